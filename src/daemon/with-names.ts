import { z } from 'zod'
import type { Call } from '../core/call.ts'
import type { KnownNames } from '../engine/known-names.ts'
import { partsOf } from '../lib/person-identity.ts'

const text = z.string().exactOptional()
const rowSchema = z.looseObject({
  gateway: z.string(),
  from: z.looseObject({ id: text, name: text, address: text, external: z.boolean().exactOptional() }),
})
const rowsSchema = z.array(rowSchema)
const requestsSchema = z.array(
  z.looseObject({ message: z.looseObject({ from: z.string(), sender: text }).exactOptional() }),
)

type Operation<Args> = (args: Args, call: Call) => Promise<unknown>
type Gateways = readonly string[] | undefined

/** Wraps an operation that lists messages: senders get the names that they have on other gateways. */
export function namedList<Args>(names: KnownNames, list: Operation<Args>): Operation<Args> {
  return async (args, call) => namedRows(names, await list(args, call), call.caller.gateways)
}

/** The same of an operation whose result has the messages in `field`. */
export function namedPage<Args>(names: KnownNames, field: string, list: Operation<Args>): Operation<Args> {
  return async (args, call) => {
    const page = Object(await list(args, call))
    return { ...page, [field]: await namedRows(names, page[field], call.caller.gateways) }
  }
}

/** Rows keep the order of their keys, which parsing would change. */
async function namedRows(names: KnownNames, found: unknown, gateways: Gateways): Promise<unknown> {
  const rows = rowsSchema.safeParse(found).data
  if (!rows || !Array.isArray(found)) return found
  const known = await names.ofSenders(rows, gateways)
  return found.map((row: object, at) => {
    const name = known[at]
    return name === undefined ? row : { ...row, from: { ...rows[at]?.from, name } }
  })
}

/**
 * The same of an operation with messages anywhere in its result. `change`: returns the result with the
 * messages that `named` returns. Values that are no messages stay as they are.
 */
export function namedIn<Args>(
  names: KnownNames,
  operation: Operation<Args>,
  change: (found: unknown, named: Named) => Promise<unknown>,
): Operation<Args> {
  return async (args, call) => {
    const named: Named = async (message) => {
      const row = rowSchema.safeParse(message).data
      const [name] = row ? await names.ofSenders([row], call.caller.gateways) : []
      return name === undefined ? message : { ...Object(message), from: { ...row?.from, name } }
    }
    return change(await operation(args, call), named)
  }
}

type Named = (message: unknown) => Promise<unknown>

/** Names the sender of the `message` of a dead letter or of `message-show`. */
export async function inMessage(found: unknown, named: Named): Promise<unknown> {
  const { message } = Object(found)
  return message === undefined ? found : { ...Object(found), message: await named(message) }
}

/** The same in each row of a list. */
export const inMessages = (found: unknown, named: Named) => inEach(found, (row) => inMessage(row, named))

/** Names the senders of the messages in the entries of a conversation. */
export async function inEntries(found: unknown, named: Named): Promise<unknown> {
  return { ...Object(found), entries: await inEach(Object(found).entries, named) }
}

/** Names those who wait because of the causes of dead letters. */
export const inCauses = (found: unknown, named: Named) =>
  inEach(found, async (cause) => {
    const { waits, recovery } = Object(cause)
    const trying = recovery?.trying
    const retried = trying && { ...trying, ...(await inWaits(trying.waits, named)) }
    return {
      ...Object(cause),
      ...(await inWaits(waits, named)),
      ...(retried && { recovery: { ...recovery, trying: retried } }),
    }
  })

async function inWaits(waits: unknown, named: Named): Promise<object> {
  if (waits === undefined) return {}
  return { waits: { ...Object(waits), longest: await inEach(Object(waits).longest, named) } }
}

async function inEach(found: unknown, change: Named): Promise<unknown> {
  return Array.isArray(found) ? Promise.all(found.map(change)) : found
}

/** The same of requests for approvals, whose messages have the name of their sender as `from`. */
export function namedRequests<Args>(names: KnownNames, list: Operation<Args>): Operation<Args> {
  return async (args, call) => {
    const found = await list(args, call)
    const requests = requestsSchema.safeParse(found).data
    if (!requests || !Array.isArray(found)) return found
    const named = found.map(async (request: object, at) => {
      const message = requests[at]?.message
      if (message?.sender === undefined || message.from !== partsOf(message.sender).name) return request
      const name = await names.of(message.sender, call.caller.gateways)
      return name === undefined ? request : { ...request, message: { ...message, from: name } }
    })
    return Promise.all(named)
  }
}
