"""Sign requests to S3-compatible servers (AWS Signature Version 4), for our own sender to send.

Only the signer of botocore is used.  Its client would resolve names, follow redirects to other regions, read the
machine's credentials and retry by itself, past the rules of ``apps.adapters.senders``.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

# At DEBUG it logs what is signed, which contains names of objects.
logging.getLogger("botocore").setLevel(logging.INFO)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCredentials:
    access_key_id: str
    secret_access_key: str = field(repr=False)


def signed_headers(
    url: str, headers: Mapping[str, str], *, credentials: AwsCredentials, region: str
) -> Mapping[str, str]:
    """The headers of a GET of ``url`` with its signature, valid for 15 minutes and for this host alone.

    The secret itself is not part of it.
    """
    # Here, so that only the process that reads buckets loads it (0.1 s, 23 MiB).
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import ReadOnlyCredentials

    request = AWSRequest("GET", url, headers=dict(headers))
    keys = ReadOnlyCredentials(credentials.access_key_id, credentials.secret_access_key, None)
    S3SigV4Auth(keys, "s3", region).add_auth(request)
    return dict(request.headers.items())
