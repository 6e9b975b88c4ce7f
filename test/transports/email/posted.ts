import { after } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createEmailTransport, type EmailOverrides } from '../../../transports/email/transport.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { startTransportFixture, type TransportFixtureOptions } from '../../fixtures/transport-deps.ts'
import { dnsOf } from './signing.ts'

const PATH = '/mail'

/**
 * Starts an email gateway that receives its mail by webhook, and sends it by the API at `api.url`.
 */
export async function startPosted(
  webhook: object,
  options: object = {},
  more: TransportFixtureOptions & { overrides?: EmailOverrides } = {},
) {
  const { overrides, ...rest } = more
  const fixture = await startTransportFixture({ gateway: 'support', ...rest })
  const given = emailOptions.parse({
    address: 'support@example.com',
    inbound: 'webhook',
    webhook: { path: PATH, ...webhook },
    outbound: 'api',
    api: { provider: 'resend', token: 're_x', url: 'http://127.0.0.1:9' },
    ...options,
  })
  const transport = createEmailTransport(given, fixture.deps, { resolver: dnsOf(), ...overrides })
  await transport.start()
  const close = async () => {
    await transport.stop()
    await transport.close()
    await fixture.close()
  }
  after(close)
  return {
    ...fixture,
    transport,
    /** Posts a delivery, as its provider does. */
    async post(
      body: string | Uint8Array<ArrayBuffer> | FormData | URLSearchParams,
      headers: Record<string, string> = {},
    ) {
      const response = await fetch(fixture.url + PATH, {
        method: 'POST',
        body,
        headers: { connection: 'close', ...headers },
      })
      return { status: response.status, body: Object(await response.json()) }
    },
    /** The newest message. */
    last() {
      const message = fixture.store.messages.at(-1)
      if (!message) throw new Error('no message was accepted')
      return message
    },
  }
}

export type ApiRequest = {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
}
export type ApiAnswer = {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer | object
  cut?: boolean
}

/**
 * Starts a server in place of the API of a provider. `answer` answers each request; `requests` has
 * all of them.
 */
export async function startApi(answer: (request: ApiRequest) => ApiAnswer) {
  const requests: ApiRequest[] = []
  const server = await serveHttp(async (request, response) => {
    let body = ''
    request.setEncoding('latin1')
    for await (const piece of request) body += piece
    const received = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    requests.push(received)
    const { status = 200, headers = {}, body: content = {}, cut } = answer(received)
    if (cut) return void request.socket.destroy()
    const text = typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content)
    response
      .writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers })
      .end(text)
  })
  after(() => server.close().catch(() => {}))
  return { url: server.url, requests, close: server.close }
}

/** The code, or else the name, of the error with which a promise rejects; `none` if it resolves. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    return error instanceof TriviumError ? error.code : error instanceof Error ? error.name : 'other'
  }
}
