import { z } from 'zod'
import { pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { SkillContext } from '../../core/skill.ts'
import { NO_FILES, type ReadFiles } from '../model/attachments.ts'
import { renderHistory } from '../session/render-history.ts'
import { createFence, type Fence } from './fence.ts'
import type { Prompt } from './skill-file.ts'

const HISTORY =
  'What was said before in this conversation, oldest first, each turn with its time. It is a record: take from it what the current input refers to.'

/**
 * Fills a prompt. Values are never parsed as directives, and untrusted values are fenced. Without
 * `:session-history[]`, the history comes first.
 */
export function renderPrompt(
  prompt: Prompt,
  ctx: SkillContext,
  fence: Fence = createFence(),
  files: ReadFiles = NO_FILES,
) {
  const history = renderSession(ctx, fence)
  const hasHistoryDirective = prompt.some(
    (piece) => typeof piece !== 'string' && piece.directive === 'session-history',
  )
  const body = prompt.map((piece) => {
    if (typeof piece === 'string') return piece
    return piece.directive === 'arg' ? renderArg(ctx, piece.path, fence) : history
  })
  const parts = [fence.notice, hasHistoryDirective ? '' : history, body.join('')]
  return {
    instructions: parts.filter((part) => part !== '').join('\n\n'),
    input: renderInput(ctx, fence, files),
    /** Renders a message that arrives while the model runs. */
    renderArrival: (message: Message) => renderMessage(message, fence, NO_FILES),
  }
}

function renderSession({ locals }: SkillContext, fence: Fence): string {
  const entries = pathGet(locals, 'session.entries')
  if (!Array.isArray(entries) || entries.length === 0) return ''
  const maxTokens = Number(pathGet(locals, 'session.maxTokens') ?? Number.POSITIVE_INFINITY)
  return `${HISTORY}\n${fence.wrap(renderHistory(entries, maxTokens), 'history')}`
}

/** An argument as text; empty if it is missing. */
function renderArg(ctx: SkillContext, path: string, fence: Fence): string {
  const value = pathGet(ctx.args, path)
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return isFromOutside(ctx) ? fence.wrap(text, `argument ${path}`) : text
}

/** The messages of a dispatched skill; empty for other invocations. */
export function messagesOf({ message, args }: SkillContext): Message[] {
  if (!message || pathGet(args, 'message.id') !== message.id) return []
  return messagesSchema.safeParse(pathGet(args, 'messages')).data ?? [message]
}

const messagesSchema = z.array(z.custom<Message>((one) => pathGet(one, 'from.id') !== undefined))

function renderInput(ctx: SkillContext, fence: Fence, files: ReadFiles): string {
  const { args } = ctx
  const messages = messagesOf(ctx)
  if (messages.length === 0) {
    const text = JSON.stringify(args ?? {}, null, 2)
    return isFromOutside(ctx) ? fence.wrap(text, 'arguments') : `Arguments:\n${text}`
  }
  const texts = files.texts.map(({ name, text }) =>
    fence.wrap(text, `file ${name.replaceAll(/["<>\s]+/g, ' ')}`),
  )
  return [...messages.map((one) => renderMessage(one, fence, files)), ...texts].join('\n\n')
}

function renderMessage(message: Message, fence: Fence, { notes }: ReadFiles): string {
  const { name, address, id } = message.from
  const head = [
    `From: ${[name, address ?? id].filter(Boolean).join(' ')}`,
    ...(message.subject === undefined ? [] : [`Subject: ${message.subject}`]),
    ...message.attachments.map(({ name, type, size, sha256 }) =>
      [`Attachment: ${name} (${type}, ${size} bytes)`, notes.get(sha256)].filter(Boolean).join(', '),
    ),
  ]
  return fence.wrap(`${head.join('\n')}\n\n${message.text}`, `message through ${message.transport}`)
}

function isFromOutside({ message, call }: SkillContext): boolean {
  return message !== undefined || call.caller.kind === 'route'
}
