"""The ceiling of our API: the barest FastAPI handlers with bodies like ours.

`python -m bench.peers.bare_fastapi PORT`. They neither store nor look up anything.
"""

import sys
from datetime import UTC, datetime
from uuid import uuid4

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

_AT = datetime(2024, 1, 1, 12, 0, 0, 123000, tzinfo=UTC)
_HEADERS = {
    "Date": "Mon, 01 Jan 2024 12:00:00 GMT",
    "Server": "nginx/1.24.0",
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": "13000",
    "Cache-Control": "max-age=600",
    "Last-Modified": "Sun, 31 Dec 2023 00:00:00 GMT",
    "ETag": '"65a1b2c3-32c8"',
    "Vary": "Accept-Encoding",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
}


class Submission(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str


class Accepted(BaseModel):
    request_id: str
    url: str
    status: str


class Metadata(BaseModel):
    status_code: int | None
    headers: dict[str, str]
    cookies: dict[str, str]
    page_source: str | None
    final_url: str | None


class Processing(BaseModel):
    retry_count: int
    attempt_number: int
    error_message: str | None
    last_attempt_at: datetime | None
    last_request_id: str | None


class Record(BaseModel):
    url: str
    status: str
    metadata: Metadata
    processing: Processing
    additional_details: dict[str, str]
    created_at: datetime
    updated_at: datetime


def build_app() -> FastAPI:
    app = FastAPI()

    @app.post("/metadata", status_code=202)
    async def submit(submission: Submission) -> Accepted:
        return Accepted(request_id=str(uuid4()), url=submission.url, status="PENDING")

    @app.get("/metadata")
    async def look_up(url: str) -> Record:
        return Record(
            url=url,
            status="COMPLETED",
            metadata=Metadata(
                status_code=200,
                headers=_HEADERS,
                cookies={"session": "4f1c9a7e", "language": "en"},
                page_source=None,
                final_url=url,
            ),
            processing=Processing(
                retry_count=0,
                attempt_number=1,
                error_message=None,
                last_attempt_at=_AT,
                last_request_id="0d4e7f9a-3c55-4b58-9f2e-0a6b7c8d9e10",
            ),
            additional_details={},
            created_at=_AT,
            updated_at=_AT,
        )

    return app


def main() -> None:
    uvicorn.run(
        build_app(),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
