import { check, findingsOf } from '../config/checker.ts'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { type Message, messageSchema } from '../core/message.ts'
import { parseExact } from '../lib/exact-json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { usage } from './command.ts'

const EXAMPLE = '{"gateway": "cli", "text": "hello", "from": {"id": "ada"}}'

/**
 * Reads a message that a person wrote to try routes: the fields of a message as `message show --json` prints them, of which only the
 * gateway is needed. Times may be Unix ms or ISO. Throws `usage`, which names the field.
 */
export function readDraft(
  text: string,
  file: string,
  gateways: readonly { name: string; transport: string }[],
): Message {
  const draft = parse(text, file)
  const name = draft.gateway
  if (typeof name !== 'string')
    throw usage(`${file}: the field gateway is missing; the smallest message is ${EXAMPLE}`)
  const names = gateways.map((gateway) => gateway.name)
  const gateway = gateways.find((one) => one.name === name)
  if (!gateway && draft.transport === undefined)
    throw usage(`${file}: there is no gateway ${name}.${didYouMean(name, names)}`)
  const given = { transport: gateway?.transport, ...draft, ...timeIn(draft, file) }
  const { data, issues } = check(messageSchema, given)
  if (data === undefined) {
    const faults = findingsOf(issues).map(
      ({ path, message }) => `${path.map(String).join('.') || 'message'}: ${message}`,
    )
    throw usage(`${file}: ${faults.join('; ')}`)
  }
  // Hours ask when it arrived; a message that does not say arrives now.
  return { ...data, receivedAt: data.receivedAt || Date.now() }
}

/** What `message show --json` prints has the message inside. */
function parse(text: string, file: string): JsonObject {
  let value: unknown
  try {
    value = parseExact(text)
  } catch (cause) {
    throw usage(`${file} is no JSON: ${reasonOf(cause)}`, cause)
  }
  if (!isJsonObject(value)) throw usage(`${file}: expected a JSON object such as ${EXAMPLE}`)
  return isJsonObject(value.message) && value.gateway === undefined ? value.message : value
}

function timeIn({ receivedAt }: JsonObject, file: string): { receivedAt?: number } {
  if (typeof receivedAt !== 'string') return {}
  const time = Date.parse(receivedAt)
  if (Number.isNaN(time))
    throw usage(
      `${file}: receivedAt is a time such as 2026-11-21T10:00:00Z, or Unix ms, not ${JSON.stringify(receivedAt)}`,
    )
  return { receivedAt: time }
}
