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
  from: z.string().default('').describe('Sender; default: the sender of the message'),
  subject: z.string().default('').describe('Subject'),
  route: z.string().default('').describe('Name of the route; each route answers a correspondent separately'),
  hours: textFor((hours) => officeHours(hours, 'UTC', []))
    .default('Mon-Fri 09:00-17:00')
    .describe('Office hours, or 24/7'),
  timezone: textFor((zone) => officeHours('24/7', zone, []))
    .exactOptional()
    .describe('Time zone, such as Europe/Berlin; default: that of the server'),
  holidays: z.array(z.iso.date()).default([]).describe('Holidays'),
  when: z.enum(['always', 'outside-hours']).default('always').describe('Also answer within office hours'),
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
 * Answers by office hours, in markdown: once per correspondent, conversation and period. Never answers automatic mail. Without an
 * answer, it returns the reason, which the history shows.
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
    // Also per conversation, because a robot may write from another address, or with another tag, each time.
    const address = from.replace(/\+[^@]*(?=@)/, '')
    const limits = [{ key: address, name: address }]
    if (message) limits.push({ key: `in/${message.conversation}`, name: 'the conversation' })
    // Check all limits before recording any: a mail without an answer must not use up a period.
    for (const check of [isUnanswered, isFirst]) {
      for (const { key, name } of limits) {
        if (await check(ctx, `autoresponder/${args.route}/${key}`)) continue
        return { noReply: `${name} got an answer less than ${inWords(args.period)} ago` }
      }
    }
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

/** Why a transport would not send an answer: the mail is automatic, or too old. Such mail must not use up the period. */
function whyUnanswerable(message: Message | undefined): string | undefined {
  const { auto, replyTarget } = message?.data ?? {}
  const suppressed = pathGet(replyTarget, 'suppress')
  if (typeof auto === 'string') return `it is automatic mail (${auto})`
  return typeof suppressed === 'string' ? `it cannot be answered (${suppressed})` : undefined
}

/**
 * Whether nothing was answered for this key within the period, on any daemon; records that it is now. Also true for a retry of the
 * message that was answered.
 */
async function isFirst(ctx: SkillContext<Args>, key: string): Promise<boolean> {
  const id = ctx.message?.id ?? null
  const entry = { key, value: { messageId: id }, store: 'shared', ttl: ctx.args.period, ifVersion: 0 }
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

function inWords(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE)
  if (minutes === 1) return 'a minute'
  if (minutes === 60) return 'an hour'
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(ms / HOUR)} hours`
}

/** Only called at run time, because the time zone data takes 6 MB. */
function zoneOf({ timezone }: Args): string {
  return timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}

function formatDate(date: Date | undefined, args: Args): string {
  if (!date) return 'another day'
  return date.toLocaleString(args.locale, { timeZone: zoneOf(args), dateStyle: 'full', timeStyle: 'short' })
}
