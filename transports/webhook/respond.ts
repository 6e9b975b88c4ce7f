import type { ServerResponse } from 'node:http'
import type { TriviumError } from '../../src/core/errors.ts'

const JSON_TYPE = 'application/json'

/** Answers with JSON text. Header values are written as they are: numbers and names of ours only. */
export function answer(
  response: ServerResponse,
  status: number,
  json: string,
  headers: readonly string[] = [],
): void {
  response.writeHead(status, [
    'Content-Type',
    JSON_TYPE,
    'Content-Length',
    String(Buffer.byteLength(json)),
    ...headers,
  ])
  response.end(json)
}

/** Answers `{"error":{"code","message"}}` with the status of the error. */
export function answerError(
  response: ServerResponse,
  error: TriviumError,
  headers?: readonly string[],
): void {
  answer(
    response,
    error.status,
    JSON.stringify({ error: { code: error.code, message: error.message } }),
    headers,
  )
}
