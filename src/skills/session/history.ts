import { isJsonObject, type Json, pathGet } from '../../core/json.ts'
import type { SessionEntry } from '../../core/services.ts'

/** Arguments that a dispatched skill always gets and that say nothing about the conversation. */
const ROUTING = ['message', 'route', 'sessionId', 'from']

/** Session entries as text for a prompt, oldest first; empty where there are none. */
export function renderHistory(entries: readonly SessionEntry[]): string {
  return entries.map(renderEntry).join('\n\n')
}

function renderEntry(entry: SessionEntry): string {
  const lines = [`[${new Date(entry.at).toISOString()}]`]
  const { 'args.text': captured, ...values } = entry.values ?? {}
  const said = entry.args === undefined ? asText(captured ?? '') : textOfArgs(entry.args)
  if (said) lines.push(`user: ${said}`)
  for (const [path, value] of Object.entries(values)) lines.push(`${path}: ${asText(value)}`)
  if (entry.result !== undefined && entry.result !== null) lines.push(`you: ${asText(entry.result)}`)
  const onlyAgent = entry.args === undefined && entry.result === undefined && entry.agent !== undefined
  if (onlyAgent) lines.push(`trace: ${asText(entry.agent ?? null)}`)
  return lines.join('\n')
}

function textOfArgs(args: Json): string {
  if (!isJsonObject(args)) return asText(args)
  const rest = Object.entries(args).filter(([name]) => name !== 'text' && !ROUTING.includes(name))
  const text = pathGet(args, 'text')
  const extra = rest.length > 0 ? asText(Object.fromEntries(rest)) : ''
  return [typeof text === 'string' ? text : '', extra].filter(Boolean).join('\n')
}

function asText(value: Json): string {
  if (typeof value === 'string') return value
  const text = pathGet(value, 'text')
  return typeof text === 'string' ? text : JSON.stringify(value)
}
