import { z } from 'zod'
import { closed, ms, name, timeout, ttl } from '../core/arguments.ts'
import { DAY } from '../core/units.ts'

/** `callback-…`: they throw `callback_not_found`, `callback_released`. */
export const callbacks = {
  /** Makes a ref `{label}-{8 hex}`, which the models of `call.rootId` see as a tool. */
  create: closed({
    timeout: ms.default(60_000).describe('How long a caller of the ref waits, in ms'),
    label: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      .default('callback')
      .describe('Prefix of the ref'),
    ttl: ttl.default(DAY).describe('The ref expires after this many ms'),
  }).describe('Creates a callback and returns its ref, which anyone can invoke like a skill.'),
  wait: closed({
    ref: name.describe('The ref that callback-create returned'),
    timeout,
  }).describe('Returns the next invocation of a callback as { id, args }; null at the timeout.'),
  /** `ok: false`: the caller no longer waits. */
  respond: closed({
    ref: name.describe('The ref'),
    id: name.describe('The id that callback-wait returned'),
    result: z.json().default(null).describe('Result of the invocation'),
    error: z.string().exactOptional().describe('Error of the invocation, instead of a result'),
  }).describe('Answers an invocation of a callback, which unblocks its caller.'),
  release: closed({
    ref: name.describe('The ref'),
  }).describe('Ends a callback; waiting callers get an error.'),
}

/** Where a value is stored. See `StateStoreName`. */
export const storeName = z.enum(['file', 'memory', 'shared'])
const onlyStore = storeName.exactOptional().describe('Only sessions in this storage; default: all')

/** `session-…` */
export const sessions = {
  list: closed({ store: onlyStore }).describe('Lists the sessions that skills remember.'),
  delete: closed({
    name: name.describe('The skill, or the session name in its settings'),
    key: name.describe('The key of the session, as in session-list'),
    store: onlyStore,
  }).describe('Deletes a session of a skill.'),
}
