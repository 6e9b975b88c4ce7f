import type { Json, JsonObject } from '../../core/json.ts'

/** The fields of a message as facts; the sender is one text. */
export function factsIn(fields: JsonObject): [title: string, text: string][] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    if (name === 'from') return [[name, fromText(value)]]
    return [[name, Array.isArray(value) ? value.map(valueText).join(', ') : valueText(value)]]
  })
}

/** `Ada (ada@mail.example, verified)`. */
function fromText(from: Json): string {
  const { id, name, address, verified, ...others } = Object(from)
  const rest = Object.entries(others).map(([key, value]) => `${key} ${valueText(value)}`)
  const [first = '', ...more] = [...new Set([name, address, id])].filter((each) => each !== undefined)
  const notes = [...more, verified === true ? 'verified' : 'not verified', ...rest]
  return `${first} (${notes.join(', ')})`
}

/** A text as it is, other values as JSON. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** All recipients of a mail: `to` of the message is only the address of the gateway. */
export function recipientsOf({ transport }: { transport?: Json }, data: unknown): Record<string, string> {
  const { to, cc } = Object(data)
  const lists = Object.entries({ to, cc }).filter(([, list]) => Array.isArray(list) && list.length > 0)
  return transport === 'email' ? Object.fromEntries(lists.map(([key, list]) => [key, list.join(', ')])) : {}
}
