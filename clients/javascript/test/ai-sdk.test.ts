/** The example for the Vercel AI SDK, with a scripted model: an agent remembers across two runs. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { generateText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";

import { memoryMiddleware } from "../examples/ai-sdk.ts";
import { Memsync } from "../src/index.ts";

test("an agent remembers across two runs", async () => {
  const memory = new Memsync({ endUser: `ai-sdk-${Math.random().toString(36).slice(2)}` });
  const run = async (prompt: string) => {
    const scripted = new MockLanguageModelV4({
      doGenerate: async () => ({
        content: [{ type: "text", text: "Noted." }],
        finishReason: { unified: "stop", raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 1, text: 1, reasoning: undefined },
        },
        warnings: [],
      }),
    });
    const model = wrapLanguageModel({ model: scripted, middleware: memoryMiddleware(memory) });
    await generateText({ model, prompt });
    return scripted.doGenerateCalls[0]?.prompt;
  };

  const first = await run("I am allergic to hazelnuts.");
  const second = await run("Which food would make me ill?");

  assert.equal(first?.length, 1);
  assert.equal(second?.length, 2);
  assert.match(String(second?.[0]?.content), /I am allergic to hazelnuts\./);
});
