import type http from 'node:http'

/**
 * `node:http` for what runs in the daemon. An `import` of it reads all its exports, of which the client of WebSockets loads
 * the whole of undici: 5 MB that a daemon keeps and never uses.
 */
export const { createServer, IncomingMessage, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')

export type IncomingMessage = http.IncomingMessage
export type RequestListener = http.RequestListener
export type RequestOptions = http.RequestOptions
export type Server = http.Server
export type ServerResponse = http.ServerResponse
