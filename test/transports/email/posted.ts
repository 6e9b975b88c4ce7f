import { after } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createEmailTransport, type EmailOverrides } from '../../../transports/email/transport.ts'
import { serveHttp } from '../../fixtures/http-server.ts'
import { startTransportFixture, type TransportFixtureOptions } from '../../fixtures/transport-deps.ts'
import { dnsOf } from './signing.ts'

const PATH = '/mail'

/** Starts an email gateway whose mail a provider posts, and whose mail goes to the API at `api.url`. */
export async function startPosted(
  webhook: object,
  options: object = {},
  more: TransportFixtureOptions & { world?: EmailOverrides } = {},
) {
  const { world, ...rest } = more
  const fixture = await startTransportFixture({ gateway: 'support', ...rest })
  const given = emailOptions.parse({
    ...{ address: 'support@example.com', inbound: 'webhook', webhook: { path: PATH, ...webhook } },
    ...{ outbound: 'api', api: { provider: 'resend', token: 're_x', url: 'http://127.0.0.1:9' } },
    ...options,
  })
  const transport = createEmailTransport(given, fixture.deps, { resolver: dnsOf(), ...world })
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
    /** Posts a delivery, as its provider would. */
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
    last() {
      const message = fixture.store.messages.at(-1)
      if (!message) throw new Error('no message was accepted')
      return message
    },
  }
}

export type Asked = {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
}
export type Said = {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer | object
  cut?: boolean
}

/** The API of a provider, real but for the provider: `says` answers each request; all of them are kept. */
export async function startApi(says: (asked: Asked) => Said) {
  const asked: Asked[] = []
  const server = await serveHttp(async (request, response) => {
    let body = ''
    request.setEncoding('latin1')
    for await (const piece of request) body += piece
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
    asked.push(one)
    const { status = 200, headers = {}, body: said = {}, cut } = says(one)
    if (cut) return void request.socket.destroy()
    const text = typeof said === 'string' || Buffer.isBuffer(said) ? said : JSON.stringify(said)
    response
      .writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers })
      .end(text)
  })
  after(() => server.close().catch(() => {}))
  return { url: server.url, asked, close: server.close }
}

/** The code of what a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    return error instanceof TriviumError ? error.code : error instanceof Error ? error.name : 'other'
  }
}
