import { isJsonObject, type Json, pathGet, toJson } from '../../core/json.ts'
import type { SessionEntry } from '../../core/session.ts'
import { headOf } from '../../lib/head-of.ts'

/** Arguments that every dispatched skill gets, and that are not part of the conversation. */
const ROUTING = ['message', 'messages', 'route', 'sessionId', 'from']

/** Maximum characters of one text in a session and in a prompt. */
export const MAX_TEXT = 16_000
/** Maximum characters of the whole history in a prompt. */
const MAX_HISTORY = 64_000

/** Renders entries for a prompt, oldest first. Marks cut texts and omitted older entries. */
export function renderHistory(
  entries: readonly SessionEntry[],
  maxTokens: number = Number.POSITIVE_INFINITY,
): string {
  const { dropped = 0, summary } = entries[0] ?? {}
  const kept: string[] = []
  let charactersLeft = MAX_HISTORY
  let tokensLeft = maxTokens - tokensIn(summary ?? '')
  for (const entry of entries.toReversed()) {
    const text = renderEntry(entry)
    charactersLeft -= text.length
    tokensLeft -= tokensIn(text)
    if (Math.min(charactersLeft, tokensLeft) < 0 && kept.length > 0) break
    kept.unshift(text)
  }
  const missing = entries.length - kept.length + dropped
  return [
    ...(summary === undefined ? [] : [`[summary of earlier entries]\n${summary}`]),
    ...(missing > 0 ? [`[${missing} older entries omitted]`] : []),
    ...kept,
  ].join('\n\n')
}

/** Estimated number of tokens. Rather too high, because tokenizers differ. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3)
}

/**
 * Renders an entry: its time, the user's text, captured values, the model's steps, and the result.
 */
export function renderEntry(entry: SessionEntry): string {
  const lines = [`[${new Date(entry.at).toISOString()}]`]
  const { 'args.text': capturedText, ...values } = entry.values ?? {}
  const userText = entry.args === undefined ? asText(capturedText ?? '') : textOfArgs(entry.args)
  if (userText) lines.push(`user: ${userText}`)
  for (const [path, value] of Object.entries(values)) lines.push(`${path}: ${asText(value)}`)
  lines.push(...stepsOf(entry))
  if (entry.result !== undefined && entry.result !== null) lines.push(`you: ${asText(entry.result)}`)
  return lines.join('\n')
}

/** The conversation with the model, without texts that are also in the arguments or the result. */
function stepsOf({ agent, args, result }: SessionEntry): string[] {
  if (!Array.isArray(agent)) return agent === undefined ? [] : [`trace: ${asText(agent)}`]
  return agent.flatMap((message, index) => {
    const { role, content } = Object(message)
    if (index === 0 && role === 'user' && args !== undefined) return []
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }]
    return parts.flatMap((part) => {
      const { type, text, toolName, input, output } = Object(part)
      if (type === 'tool-call') return [`you called ${toolName}: ${asText(input ?? null)}`]
      if (type === 'tool-result')
        return [`${toolName} gave: ${asText(toJson(pathGet(output, 'value') ?? null))}`]
      return type !== 'text' || text === '' || text === result ? [] : [`${role}: ${asText(text)}`]
    })
  })
}

function textOfArgs(args: Json): string {
  if (!isJsonObject(args)) return asText(args)
  const rest = Object.entries(args).filter(([name]) => name !== 'text' && !ROUTING.includes(name))
  const text = pathGet(args, 'text')
  const extra = rest.length > 0 ? asText(Object.fromEntries(rest)) : ''
  return [typeof text === 'string' ? asText(text) : '', extra].filter(Boolean).join('\n')
}

function asText(value: Json): string {
  const text = typeof value === 'string' ? value : pathGet(value, 'text')
  return headOf(typeof text === 'string' ? text : JSON.stringify(value), MAX_TEXT)
}
