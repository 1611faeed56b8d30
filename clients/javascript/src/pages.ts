/** Lists that come in pages. */

/** Every entry of every page, which is requested when it is needed. */
export async function* entries<Entry>(
  pageSize: number, next: (offset: number, limit: number) => Promise<Entry[]>,
): AsyncGenerator<Entry, void, undefined> {
  for (let offset = 0; ; offset += pageSize) {
    const page = await next(offset, pageSize);
    yield* page;
    if (page.length < pageSize) return;
  }
}
