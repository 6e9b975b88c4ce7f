import type http from 'node:http'

/**
 * `node:http` without its WebSocket client. An `import` reads all exports of the module, and
 * reading that one loads the whole of undici: 5 MB that a daemon never uses.
 */
export const { createServer, IncomingMessage, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')

export type IncomingMessage = http.IncomingMessage
export type RequestListener = http.RequestListener
export type RequestOptions = http.RequestOptions
export type Server = http.Server
export type ServerResponse = http.ServerResponse
