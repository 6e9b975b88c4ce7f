import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'

/** An answer, whose body may be cut short; or an error, if there was no answer. */
export type SendResult = { status: number; headers: IncomingHttpHeaders; body: Buffer[] } | Error

export type Connection = ReturnType<typeof createConnection>

/**
 * Sends requests on one connection, one at a time. Each has `timeout` ms from its start to the end
 * of the answer. All requests share a handler and a timer: making new ones takes longer than
 * signing a request. Calls `ended` after each request, before the request's own `answered`.
 */
export function createConnection(client: Client, timeout: number, ended: (connection: Connection) => void) {
  let onAnswer: ((result: SendResult) => void) | undefined
  let request: Dispatcher.DispatchController | undefined
  let head: { status: number; headers: IncomingHttpHeaders } | undefined
  let body: Buffer[] = []
  const expire = () => request?.abort(new Error(`no answer within ${timeout} ms`))
  let timer: NodeJS.Timeout | undefined

  const end = (error: Error) => {
    // If the status is known, an incomplete body does not matter.
    const result = head ? { ...head, body } : error
    const answered = onAnswer
    onAnswer = request = head = undefined
    body = []
    ended(connection)
    answered?.(result)
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      request = controller
      timer = timer?.refresh() ?? setTimeout(expire, timeout).unref()
    },
    onResponseStart(_, status, headers) {
      head = { status, headers }
    },
    onResponseData: (_, chunk) => void body.push(chunk),
    onResponseEnd: () => end(NO_ANSWER),
    onResponseError: (_, error) => end(error),
  }
  const connection = {
    send(options: Dispatcher.DispatchOptions, answered: (result: SendResult) => void): void {
      onAnswer = answered
      client.dispatch(options, handler)
    },
    close: () => client.destroy(),
  }
  return connection
}

const NO_ANSWER = new Error('the answer had no status')
