import { z } from 'zod'
import type { Call } from '../core/call.ts'
import type { OperationMethod } from '../core/operation.ts'
import type { KnownNames } from '../engine/known-names.ts'
import { partsOf } from '../lib/person-identity.ts'

const text = z.string().exactOptional()
/** A message in a result, with its sender. */
const messageSchema = z.looseObject({
  gateway: z.string(),
  from: z.looseObject({ id: text, name: text, address: text, external: z.boolean().exactOptional() }),
})
/** The message of a request for an approval, which has the name of its sender as `from`. */
const requestSchema = z.looseObject({ gateway: z.string(), from: z.string(), sender: z.string() })

/** Fields with what others sent, in which nothing is replaced. */
const CONTENT = new Set(['data', 'body', 'payload', 'result', 'args', 'text'])

/** The services whose results have senders. A test calls all operations that read, and finds new ones. */
const OF_SENDERS = new Set([
  ...['messages', 'deadLetters', 'conversations', 'approvals', 'longJobs', 'troubles', 'subscriptions'],
  ...['people', 'messageErasure', 'personOpen', 'personShow', 'pauses'],
])

type Methods = (service: string, method: string) => OperationMethod

/** Adds to each sender without a name the one that the address has on other gateways. */
export function withNames(names: KnownNames, methods: Methods): Methods {
  return (service, method) => {
    const operation = methods(service, method)
    if (!OF_SENDERS.has(service)) return operation
    return async (args, call) => named(names, await operation(args, call), call.caller.gateways)
  }
}

type Gateways = Call['caller']['gateways']

/** The result, or a copy with names. Objects keep the order of their keys. */
async function named(names: KnownNames, result: unknown, gateways: Gateways): Promise<unknown> {
  const found: { value: object; sent: z.infer<typeof messageSchema> }[] = []
  collect(result, (value) => {
    const message = messageSchema.safeParse(value).data
    const request = message ? undefined : requestSchema.safeParse(value).data
    if (message) found.push({ value, sent: message })
    else if (request && request.from === partsOf(request.sender).name)
      found.push({ value, sent: { gateway: request.gateway, from: { id: request.from } } })
  })
  if (found.length === 0) return result
  const known = await names.ofSenders(
    found.map(({ sent }) => sent),
    gateways,
  )
  const nameOf = new Map(found.flatMap(({ value }, at) => (known[at] ? [[value, known[at]] as const] : [])))
  return nameOf.size === 0 ? result : replaced(result, nameOf)
}

function collect(value: unknown, add: (value: object) => void): void {
  if (typeof value !== 'object' || value === null) return
  if ('gateway' in value && 'from' in value) add(value)
  for (const [key, field] of Object.entries(value)) if (!CONTENT.has(key)) collect(field, add)
}

function replaced(value: unknown, nameOf: ReadonlyMap<object, string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((element) => replaced(element, nameOf))
  const name = nameOf.get(value)
  const fields = Object.entries(value).map(([key, field]) => {
    if (key === 'from' && name !== undefined)
      return [key, typeof field === 'string' ? name : { ...field, name }]
    return [key, CONTENT.has(key) ? field : replaced(field, nameOf)]
  })
  return Object.fromEntries(fields)
}
