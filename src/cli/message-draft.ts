import { check, findingsOf } from '../config/checker.ts'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { type Message, messageSchema } from '../core/message.ts'
import { parseTime } from '../core/units.ts'
import { parseExact } from '../lib/exact-json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { usage } from './command.ts'

const EXAMPLE = '{"gateway": "cli", "text": "hello", "from": {"id": "ada"}}'

/**
 * Reads a hand-written message to try routes: the fields of `message show --json`, of which only
 * the gateway is required. Times may be Unix ms or ISO 8601. Throws `usage` with the name of the
 * invalid field.
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
  const fields = { transport: gateway?.transport, ...draft, ...parsedTime(draft, file) }
  const { data, issues } = check(messageSchema, fields)
  if (data === undefined) {
    const faults = findingsOf(issues).map(
      ({ path, message }) => `${path.map(String).join('.') || 'message'}: ${message}`,
    )
    throw usage(`${file}: ${faults.join('; ')}`)
  }
  // Without a time, the message arrives now, which matters to `hours`.
  return { ...data, receivedAt: data.receivedAt || Date.now() }
}

/** Parses a draft, or the output of `message show --json`, which has the message in a field. */
function parse(text: string, file: string): JsonObject {
  let value: unknown
  try {
    value = parseExact(text)
  } catch (cause) {
    throw usage(`${file} is not JSON: ${reasonOf(cause)}`, cause)
  }
  if (!isJsonObject(value)) throw usage(`${file}: expected a JSON object such as ${EXAMPLE}`)
  return isJsonObject(value.message) && value.gateway === undefined ? value.message : value
}

/** `receivedAt` in Unix ms, if it is a text. */
function parsedTime({ receivedAt }: JsonObject, file: string): { receivedAt?: number } {
  if (typeof receivedAt !== 'string') return {}
  // As everywhere, in UTC without a zone.
  const time = /^\d{4}-/.test(receivedAt) ? parseTime(receivedAt) : undefined
  if (time === undefined)
    throw usage(
      `${file}: receivedAt is a time such as 2026-11-21T10:00:00Z, or Unix ms, not ${JSON.stringify(receivedAt)}`,
    )
  return { receivedAt: time }
}
