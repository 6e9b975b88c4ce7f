import { z } from 'zod'
import { webhook } from '../../../transports/webhook/index.ts'
import { startGateway } from '../../fixtures/gateway.ts'
import type { TransportFixtureOptions } from '../../fixtures/transport-deps.ts'

const PATH = '/hooks/test'

/** Starts a webhook gateway with these options. */
export async function startWebhook(options: object = {}, fixtureOptions: TransportFixtureOptions = {}) {
  const fixture = await startGateway(webhook, { path: PATH, ...options }, fixtureOptions)
  return {
    ...fixture,
    hook: fixture.url + PATH,
    post: (body: Body, headers: Record<string, string> = {}, query = '') =>
      post(fixture.url + PATH + query, body, headers),
    /** The newest message. */
    last() {
      const message = fixture.store.messages.at(-1)
      if (!message) throw new Error('no message was accepted')
      return message
    },
  }
}

export type Body = string | Uint8Array<ArrayBuffer>

const answerBody = z.looseObject({
  id: z.string().optional(),
  duplicate: z.boolean().optional(),
  reply: z.string().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})

export type Answer = { status: number; headers: Headers; body: z.output<typeof answerBody> }

export async function post(url: string, body: Body, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', body, headers })
  return { status: response.status, headers: response.headers, body: answerBody.parse(await response.json()) }
}

export const json = { 'content-type': 'application/json' }
