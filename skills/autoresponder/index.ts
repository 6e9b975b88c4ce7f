import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import { isJsonObject, pathGet } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import { defineSkill, type SkillContext } from '../../src/core/skill.ts'
import { duration } from '../../src/core/units.ts'
import { officeHours } from './hours.ts'

const args = z.object({
  from: z.string().default('').describe('Sender; default: the sender of the message'),
  subject: z.string().default('').describe('Subject'),
  route: z.string().default('').describe('Name of the route; each route answers a correspondent separately'),
  hours: readable((hours) => officeHours(hours, 'UTC', []))
    .default('Mon-Fri 09:00-17:00')
    .describe('Office hours, or 24/7'),
  timezone: readable((zone) => officeHours('24/7', zone, []))
    .exactOptional()
    .describe('Time zone, such as Europe/Berlin; default: that of the server'),
  holidays: z.array(z.iso.date()).default([]).describe('Holidays'),
  when: z.enum(['always', 'outside-hours']).default('always').describe('Also answer within office hours'),
  period: duration
    .default(86_400_000)
    .describe('Answer each correspondent and conversation at most once in this time'),
  away: z
    .string()
    .optional()
    .describe('Answer outside office hours, in markdown; default: the text of templates/away.md'),
  received: z
    .string()
    .optional()
    .describe('Answer within office hours, in markdown; default: the text of templates/received.md'),
  locale: z.string().default('en-GB').describe('Format of dates'),
})

type Args = z.output<typeof args>

/** Text that `read` takes; what it throws is told where the text is written. */
function readable(read: (text: string) => unknown) {
  return z.string().superRefine((text, context) => {
    try {
      read(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error), input: text })
    }
  })
}

/** Answers by office hours, in markdown: once per correspondent, conversation and period, never a machine. Without an answer, the history says why. */
export default defineSkill({
  name: 'autoresponder',
  description: 'Answers by office hours, once per correspondent and period, with a template in markdown.',
  args,
  async run(ctx) {
    const { args, message } = ctx
    const machine = whyUnanswerable(message)
    if (machine !== undefined) return { noReply: machine }
    const at = new Date(message?.receivedAt ?? Date.now())
    const office = officeHours(args.hours, zoneOf(args), args.holidays)
    const open = office.isOpen(at)
    if (open && args.when === 'outside-hours') return { noReply: 'it is within the office hours' }
    const from = (message?.from.address ?? (args.from || (message?.from.id ?? ''))).toLowerCase()
    // A robot may write from another address, or tag, each time.
    const names = [from.replace(/\+[^@]*(?=@)/, ''), ...(message ? [`in/${message.conversation}`] : [])]
    for (const name of names) {
      if (await isFirst(ctx, `autoresponder/${args.route}/${name}`)) continue
      const whom = name.startsWith('in/') ? 'the conversation' : name
      return { noReply: `${whom} got an answer within the last ${inWords(args.period)}` }
    }
    const template = open ? (args.received ?? (await file('received'))) : (args.away ?? (await file('away')))
    return fill(template, {
      name: message?.from.name ?? from,
      from,
      subject: message?.subject ?? (args.subject || 'your question'),
      opens: formatDate(office.nextOpening(at), args),
      period: inWords(args.period),
    })
  },
})

/** Why a transport would not answer: it is a machine's mail, or too old. Such mail must not use up the period. */
function whyUnanswerable(message: Message | undefined): string | undefined {
  const { auto, replyTarget } = message?.data ?? {}
  const suppressed = pathGet(replyTarget, 'suppress')
  if (typeof auto === 'string') return `it is automatic mail (${auto})`
  return typeof suppressed === 'string' ? `it cannot be answered (${suppressed})` : undefined
}

/** True once per correspondent and period, on all daemons; again for a retry of the message that was answered, whose id is kept. */
async function isFirst(ctx: SkillContext<Args>, key: string): Promise<boolean> {
  const id = ctx.message?.id ?? null
  const once = { key, value: { messageId: id }, store: 'shared', ttl: ctx.args.period, ifVersion: 0 }
  const set = await ctx.manager.invoke('state-set', once)
  if (isJsonObject(set) && set.ok === true) return true
  const before = await ctx.manager.invoke('state-get', { key, store: 'shared' })
  return id !== null && isJsonObject(before) && before.messageId === id
}

function file(name: 'away' | 'received'): Promise<string> {
  return readFile(join(import.meta.dirname, 'templates', `${name}.md`), 'utf8')
}

/** Puts values into `{{name}}`, as text: markdown in them stays what it looks like. */
function fill(template: string, values: Record<string, string>): string {
  return template
    .replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, key: string) => escapeMarkdown(values[key] ?? ''))
    .trim()
}

function escapeMarkdown(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .slice(0, 200)
    .replaceAll(/[\\`*_[\]<>#|~]/g, '\\$&')
}

function inWords(ms: number): string {
  const hours = Math.round(ms / 3_600_000)
  return hours === 1 ? 'an hour' : hours > 1 ? `${hours} hours` : `${Math.ceil(ms / 60_000)} minutes`
}

/** Read late: what knows the time zones takes 6 MB. */
function zoneOf({ timezone }: Args): string {
  return timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}

function formatDate(date: Date | undefined, args: Args): string {
  if (!date) return 'another day'
  return date.toLocaleString(args.locale, { timeZone: zoneOf(args), dateStyle: 'full', timeStyle: 'short' })
}
