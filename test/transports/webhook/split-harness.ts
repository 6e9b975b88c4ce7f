import { z } from 'zod'
import { json, startWebhook } from './harness.ts'

const splitAnswer = z.object({
  id: z.string().optional(),
  ids: z.array(z.string()),
  duplicate: z.boolean().optional(),
  duplicates: z.number().optional(),
})

/**
 * Starts a gateway with these options. `send` posts JSON and resolves with the status and the
 * fields of the answer.
 */
export async function startSplit(options: object) {
  const hook = await startWebhook(options)
  const send = async (body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(hook.hook, { method: 'POST', body: text, headers: { ...json, ...headers } })
    return { status: response.status, ...splitAnswer.parse(await response.json()) }
  }
  return { ...hook, send }
}

/** An event as HubSpot documents it. */
export const hubspotEvent = (eventId: number, more: object = {}) => ({
  eventId,
  subscriptionId: 25,
  portalId: 33,
  occurredAt: 1462216307945,
  subscriptionType: 'contact.propertyChange',
  attemptNumber: 0,
  objectId: 1246965,
  propertyName: 'lifecyclestage',
  propertyValue: 'subscriber',
  ...more,
})
