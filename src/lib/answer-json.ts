import type { ServerResponse } from 'node:http'

/** Answers with JSON text, beside the headers that are set already. */
export function answerJson(response: ServerResponse, status: number, json: string): void {
  const length = String(Buffer.byteLength(json))
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length])
  response.end(json)
}
