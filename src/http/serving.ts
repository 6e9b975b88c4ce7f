import type { Duplex } from 'node:stream'
import { stoppingError, TriviumError, toTriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { peerOf } from '../lib/http.ts'
import { type IncomingMessage, type Server, ServerResponse } from '../lib/node-http.ts'
import { answerError } from './answer-error.ts'
import { type Paths, pathOf } from './paths.ts'
import type { ReportUnknownPath } from './unknown-paths.ts'

/**
 * Passes requests and upgrades to the handlers of their paths. Answers the errors of handlers, and
 * requests to unknown paths. The server upgrades only paths that have an upgrade handler: if
 * `serveUpgrade` finds none, it was removed in the meantime.
 */
export function createServing(options: {
  server: Pick<Server, 'listening'>
  paths: Paths
  log: Log
  /** Logs each upgrade, at debug. */
  logsEach: boolean
  reportUnknownPath?: ReportUnknownPath | undefined
}) {
  const { server, paths, log, logsEach, reportUnknownPath } = options
  let isLeaving = false
  return {
    serve,
    serveUpgrade,
    fail,
    /** From now on, responses ask clients to reconnect. */
    leave(): void {
      isLeaving = true
    },
  }

  /** Logs internal errors only: gateways report their own refusals. */
  function logFailure(request: IncomingMessage, error: TriviumError) {
    if (error.code === 'internal')
      log.error({ path: pathOf(request.url), err: error }, 'a request handler failed')
  }

  function serve(request: IncomingMessage, response: ServerResponse) {
    const path = pathOf(request.url)
    const { mount } = paths.get(path)
    if (isLeaving) response.setHeader('connection', 'close')
    if (!mount) return void refuse(request, response, path)
    try {
      // `Promise.try` would add two promises per request.
      mount(request, response)?.catch((thrown: unknown) => fail(request, response, thrown))
    } catch (thrown) {
      fail(request, response, thrown)
    }
  }

  function fail(request: IncomingMessage, response: ServerResponse, thrown: unknown) {
    const error = toTriviumError(thrown)
    logFailure(request, error)
    answerError(response, error)
  }

  function refuse(request: IncomingMessage, response: ServerResponse, path: string) {
    const error = errorFor(path)
    if (error.code === 'not_found') reportUnknownPath?.(request, path, paths.all())
    answerError(response, error)
  }

  function errorFor(path: string): TriviumError {
    if (!server.listening) return stoppingError()
    return paths.has(path)
      ? new TriviumError('upgrade_required', { path })
      : new TriviumError('not_found', { path: path.slice(0, 200) })
  }

  async function serveUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    // A reset before the handler adds its own listener must not end the process.
    socket.on('error', (error) => log.debug({ err: error }, 'an upgraded connection broke'))
    const path = pathOf(request.url)
    const { upgrade } = paths.get(path)
    if (logsEach) log.debug({ path, from: peerOf(request) }, 'a client opens a WebSocket connection')
    try {
      if (!upgrade || !server.listening) throw stoppingError()
      await upgrade(request, socket, head)
    } catch (thrown) {
      const error = toTriviumError(thrown)
      logFailure(request, error)
      if (!socket.writable) return void socket.destroy()
      const response = new ServerResponse(request)
      response.assignSocket(request.socket)
      response.shouldKeepAlive = false
      response.once('finish', () => socket.end(() => socket.destroy()))
      if (error.status === 401) response.setHeader('www-authenticate', 'Bearer')
      answerError(response, error)
    }
  }
}
