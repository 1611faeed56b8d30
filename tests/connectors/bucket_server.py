"""An S3-compatible server, which checks signatures and policies as a real one does."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import boto3
import httpx
from moto.server import ThreadedMotoServer

# Settings of a fetcher that reaches it.
LOOPBACK: Final = {
    "BACKEND": "apps.adapters.senders.http.HttpSender",
    "OPTIONS": {"allow_http": True, "networks": ["127.0.0.0/8"]},
}
POLICY: Final = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}'


class Store:
    """A server and one of its buckets.  key: of a user of it."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        root = {"aws_access_key_id": "root", "aws_secret_access_key": "root", "region_name": "us-east-1"}
        self.s3 = boto3.client("s3", endpoint_url=endpoint, **root)
        self.s3.create_bucket(Bucket="manuals")
        iam = boto3.client("iam", endpoint_url=endpoint, **root)
        iam.create_user(UserName="reader")
        iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=POLICY)
        self.key: dict[str, str] = iam.create_access_key(UserName="reader")["AccessKey"]

    def put(self, key: str, content: bytes, **options: Any) -> None:
        with self._unchecked():
            self.s3.put_object(Bucket="manuals", Key=key, Body=content, **options)

    def delete(self, *keys: str) -> None:
        with self._unchecked():
            for key in keys:
                self.s3.delete_object(Bucket="manuals", Key=key)

    def delete_bucket(self) -> None:
        with self._unchecked():
            for one in self.s3.list_objects_v2(Bucket="manuals")["Contents"]:
                self.s3.delete_object(Bucket="manuals", Key=one["Key"])
            self.s3.delete_bucket(Bucket="manuals")

    @contextmanager
    def _unchecked(self) -> Iterator[None]:
        """Meanwhile the server checks no signatures and policies."""
        self._allow(1_000_000)
        yield
        self._allow(0)

    def _allow(self, unchecked_requests: int) -> None:
        body = str(unchecked_requests).encode()
        httpx.post(f"{self.endpoint}/moto-api/reset-auth", content=body).raise_for_status()

    def settings(self, **changed: Any) -> dict[str, Any]:
        secret = self.key["SecretAccessKey"]
        return {"name": "manuals", "access_key_id": self.key["AccessKeyId"], "secret_access_key": secret} | changed


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server on the loopback."""
    one = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    one.start()
    host, port = one.get_host_and_port()
    yield f"http://{host}:{port}"
    one.stop()


def empty_store(endpoint: str) -> Store:
    """A server without other buckets and users."""
    httpx.post(f"{endpoint}/moto-api/reset").raise_for_status()
    httpx.post(f"{endpoint}/moto-api/reset-auth", content=b"1000000").raise_for_status()
    return Store(endpoint)
