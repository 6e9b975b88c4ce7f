import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { z } from 'zod'

const requestSchema = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.json().optional() })),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
})
type Request = z.output<typeof requestSchema>

/** Approximate number. */
const CHARACTERS_PER_TOKEN = 4
/** The labels of the small model for repository events; the first match counts. */
const LABELS: readonly [RegExp, string][] = [
  [/payment|checkout|basket/i, 'bug · checkout · urgent'],
  [/search|accent|japanese/i, 'bug · languages'],
  [/conclusion\W+failure/i, 'tests failed on main · urgent'],
  [/workflow_run/i, 'tests passed · nothing to do'],
  [/pull_request/i, 'change · needs a review'],
]

/**
 * The models of the demo: the part of OpenAI's streamed chat completions that the AI SDK reads. A
 * model with the tool `desk` calls it and returns its answer; another one labels its input.
 */
export async function answerAsModel(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parsed = requestSchema.safeParse(await json(request))
  if (!parsed.success) return void response.writeHead(400).end()
  const { model, messages } = parsed.data
  const { delta, finish } = nextStep(parsed.data)
  const usage = { prompt_tokens: tokensOf(messages), completion_tokens: tokensOf(delta) }
  const envelope = { id: 'demo', object: 'chat.completion.chunk', created: 1, model }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const [index, part] of [{ role: 'assistant', ...delta }, {}].entries()) {
    const choice = { index: 0, delta: part, finish_reason: index === 0 ? null : finish }
    response.write(`data: ${JSON.stringify({ ...envelope, choices: [choice] })}\n\n`)
  }
  response.end(`data: ${JSON.stringify({ ...envelope, choices: [], usage })}\n\ndata: [DONE]\n\n`)
}

function tokensOf(value: object): number {
  return Math.ceil(JSON.stringify(value).length / CHARACTERS_PER_TOKEN)
}

/** The model's next message, and why it ends. */
function nextStep({ messages, tools }: Request): { delta: object; finish: string } {
  const { role, content } = messages.at(-1) ?? { role: 'user' }
  const text = textOf(content)
  if (role === 'tool') return say(/^"?(null|undefined)?"?$/.test(text) ? 'You are welcome!' : unquoted(text))
  if (!tools.some((tool) => tool.function.name === 'desk')) {
    return say(LABELS.find(([pattern]) => pattern.test(text))?.[1] ?? 'question · no hurry')
  }
  const call = { name: 'desk', arguments: JSON.stringify({ text: withoutTags(text) }) }
  return {
    delta: { tool_calls: [{ index: 0, id: `call_${messages.length}`, type: 'function', function: call }] },
    finish: 'tool_calls',
  }
}

const say = (content: string) => ({ delta: { content }, finish: 'stop' })

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => String(Object(part).text ?? '')).join('\n')
}

/** The user's own text, without the tags that the prompt has around it. */
function withoutTags(text: string): string {
  return text.replaceAll(/<\/?[a-z][^>]*>/gi, '').trim()
}

function unquoted(text: string): string {
  return text.startsWith('"') && text.endsWith('"') ? String(JSON.parse(text)) : text
}
