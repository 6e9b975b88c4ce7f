import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'

/** An answer, whose body may be cut short; or an error, if there was no answer. */
export type Exchanged = { status: number; headers: IncomingHttpHeaders; body: Buffer[] } | Error

export type Exchange = ReturnType<typeof createExchange>

/**
 * Sends requests on one connection, one at a time. Each has `timeout` ms from its start to the end
 * of the answer. All requests share a handler and a timer: making new ones takes longer than
 * signing a request. Calls `ended` after each request, before the request's own `answered`.
 */
export function createExchange(client: Client, timeout: number, ended: (exchange: Exchange) => void) {
  let onAnswer: ((result: Exchanged) => void) | undefined
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
    ended(exchange)
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
  const exchange = {
    send(options: Dispatcher.DispatchOptions, answered: (result: Exchanged) => void): void {
      onAnswer = answered
      client.dispatch(options, handler)
    },
    close: () => client.destroy(),
  }
  return exchange
}

const NO_ANSWER = new Error('the answer had no status')
