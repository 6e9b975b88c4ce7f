import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import { isJsonObject, pathGet } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import { defineSkill, type SkillContext } from '../../src/core/skill.ts'
import { DAY, duration, HOUR, MINUTE } from '../../src/core/units.ts'
import { officeHours } from './hours.ts'

const args = z.object({
  from: z.string().default('').describe('Sender, if there is no message with an address'),
  subject: z.string().default('').describe('Subject, if there is no message with one'),
  route: z.string().default('').describe('Name of the route; each route answers a correspondent separately'),
  hours: textFor((hours) => officeHours(hours, 'UTC', []))
    .default('Mon-Fri 09:00-17:00')
    .describe('Office hours, or 24/7'),
  timezone: textFor((zone) => officeHours('24/7', zone, []))
    .exactOptional()
    .describe('Time zone, such as Europe/Berlin; default: that of the server'),
  holidays: z.array(z.iso.date()).default([]).describe('Holidays'),
  when: z.enum(['always', 'outside-hours']).default('always').describe('always, or only outside-hours'),
  period: duration
    .default(DAY)
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

/** A schema for texts that `parse` accepts. Its errors become errors of the argument. */
function textFor(parse: (text: string) => unknown) {
  return z.string().superRefine((text, context) => {
    try {
      parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error), input: text })
    }
  })
}

/**
 * Answers by office hours, in markdown: once per correspondent, conversation and period. Never answers
 * automatic mail. Without an answer, it returns the reason, which the history shows.
 */
export default defineSkill({
  name: 'autoresponder',
  description: 'Answers by office hours, once per correspondent and period, with a template in markdown.',
  args,
  async run(ctx) {
    const { args, message } = ctx
    const unanswerable = whyUnanswerable(message)
    if (unanswerable !== undefined) return { noReply: unanswerable }
    const at = new Date(message?.receivedAt ?? Date.now())
    const office = officeHours(args.hours, zoneOf(args), args.holidays)
    const isOpen = office.isOpen(at)
    if (isOpen && args.when === 'outside-hours') return { noReply: 'it is within the office hours' }
    const from = (message?.from.address ?? (args.from || (message?.from.id ?? ''))).toLowerCase()
    const answered = await takeLimits(ctx, limitsOf(from, message))
    if (answered) return { noReply: `${answered.name} got an answer less than ${inWords(args.period)} ago` }
    const template = isOpen
      ? (args.received ?? (await readTemplate('received')))
      : (args.away ?? (await readTemplate('away')))
    return fill(template, {
      name: message?.from.name ?? from,
      from,
      subject: message?.subject ?? (args.subject || 'your question'),
      opens: formatDate(office.nextOpening(at), args),
      period: inWords(args.period),
    })
  },
})

/**
 * Why a transport would not send an answer: the mail is automatic, or too old. Such mail must not use
 * up the period.
 */
function whyUnanswerable(message: Message | undefined): string | undefined {
  const { auto, replyTarget } = message?.data ?? {}
  const suppressed = pathGet(replyTarget, 'suppress')
  if (typeof auto === 'string') return `it is automatic mail (${auto})`
  return typeof suppressed === 'string' ? `it cannot be answered (${suppressed})` : undefined
}

/** Who or what gets at most one answer in a period. `key`: part of its key in the state. */
type Limit = { key: string; name: string }

function limitsOf(from: string, message: Message | undefined): Limit[] {
  // A robot may write with another tag each time.
  const address = from.replace(/\+[^@]*(?=@)/, '')
  const correspondent = { key: address, name: address }
  if (!message) return [correspondent]
  // A robot may also write from another address each time.
  return [correspondent, { key: `in/${message.conversation}`, name: 'the conversation' }]
}

/** Records an answer against all limits. Returns the limit that an earlier answer has used up, if any. */
async function takeLimits(ctx: SkillContext<Args>, limits: readonly Limit[]): Promise<Limit | undefined> {
  const keyOf = (limit: Limit) => `autoresponder/${ctx.args.route}/${limit.key}`
  // Check all limits before recording any: a mail without an answer must not use up a period.
  for (const limit of limits) if (!(await isUnanswered(ctx, keyOf(limit)))) return limit
  for (const limit of limits) if (!(await claimPeriod(ctx, keyOf(limit)))) return limit
  return undefined
}

/** Records an answer for a key, on all daemons. False if another message got one within the period. */
async function claimPeriod(ctx: SkillContext<Args>, key: string): Promise<boolean> {
  const value = { messageId: ctx.message?.id ?? null }
  const entry = { key, value, store: 'shared', ttl: ctx.args.period, ifVersion: 0 }
  const result = await ctx.manager.invoke('state-set', entry)
  return (isJsonObject(result) && result.ok === true) || (await isUnanswered(ctx, key))
}

/** Whether nothing is recorded for this key, except by an earlier attempt of the same message. */
async function isUnanswered(ctx: SkillContext<Args>, key: string): Promise<boolean> {
  const recorded = await ctx.manager.invoke('state-get', { key, store: 'shared' })
  if (!isJsonObject(recorded)) return true
  return ctx.message !== undefined && recorded.messageId === ctx.message.id
}

function readTemplate(name: 'away' | 'received'): Promise<string> {
  return readFile(join(import.meta.dirname, 'templates', `${name}.md`), 'utf8')
}

/** Inserts values at `{{name}}`, as plain text: markdown in them is escaped. */
function fill(template: string, values: Record<string, string>): string {
  return template
    .replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, key: string) => escapeMarkdown(values[key] ?? ''))
    .trim()
}

/** Maximum characters of an inserted value. */
const MAX_VALUE = 200

function escapeMarkdown(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .slice(0, MAX_VALUE)
    .replaceAll(/[\\`*_[\]<>#|~]/g, '\\$&')
}

/** A duration in the largest unit that gives a whole number: `7 days`, `36 hours`, `90 minutes`. */
function inWords(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE)
  if (minutes === 1) return 'a minute'
  if (minutes === 60) return 'an hour'
  if (ms >= 2 * DAY && ms % DAY === 0) return `${ms / DAY} days`
  return ms % HOUR === 0 ? `${ms / HOUR} hours` : `${minutes} minutes`
}

/** Only called at run time, because the time zone data takes 6 MB. */
function zoneOf({ timezone }: Args): string {
  return timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}

function formatDate(date: Date | undefined, args: Args): string {
  if (!date) return 'another day'
  return date.toLocaleString(args.locale, { timeZone: zoneOf(args), dateStyle: 'full', timeStyle: 'short' })
}
