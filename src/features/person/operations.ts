import { z } from 'zod'
import { closed, limit, optional, time, wait } from '../../core/arguments.ts'
import { isId } from '../../core/message-id.ts'
import { spoken } from '../../core/spoken.ts'
import { groupNamed, openWords } from '../../lib/open-groups.ts'
import { identitiesIn, identityProblem } from './identities-in.ts'

/** At least one identity, separated by commas: see `identitiesIn`. */
const identity = z.string().refine((text) => identitiesIn(text) !== undefined, {
  error: ({ input }) => identityProblem(String(input)),
})

const MAX_IDENTITIES = 100

const identities = spoken(
  z
    .union([identity, z.array(identity).min(1).max(MAX_IDENTITIES)])
    .transform((given) => [given].flat().flatMap((text) => identitiesIn(text) ?? []))
    .refine((all) => all.length <= MAX_IDENTITIES, `expected at most ${MAX_IDENTITIES} identities`)
    .describe(
      'The person, as <gateway>:<identity>, or an address, which means every gateway: alice@example.com. Several identities of one person as a list, or separated by commas',
    ),
  { type: 'identity' },
)

const messageId = z.string().refine(isId, 'expected the id of a message')

const messageIds = z
  .union([messageId, z.array(messageId).min(1).max(1_000)])
  .transform((given) => [given].flat())
  .describe('The ids of the messages')

/** Without spaces and addresses, because it stays after the erasure. */
const reference = z
  .string()
  .regex(/^[^\s@]{1,200}$/, 'expected a ticket number or a link, without spaces and mail addresses')
  .exactOptional()
  .describe('The number or link of the request, kept with the proof: GDPR-17. No names or addresses')

/** The stored data about one person, for operators only: `person-…`. They throw `forbidden`. */
export const people = {
  count: closed({
    identity: identities,
    wait: wait
      .default(60_000)
      .describe('How long to wait for the count; after that, returns the counts so far'),
  }).describe('Counts the stored data about one person, by place.'),
  export: closed({
    identity: identities,
    format: z
      .enum(['jsonl', 'html'])
      .default('jsonl')
      .describe(
        'jsonl: everything, one JSON object per line; html: a page to read, with their messages and the answers',
      ),
    attachments: z
      .boolean()
      .default(true)
      .describe('Include the files that they sent, in base64 (jsonl only)'),
  }).describe('Exports all stored data about one person to a file.'),
  erase: closed({
    identity: identities,
    confirm: z.boolean().default(false).describe('Erase the data; otherwise only count it'),
    counted: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .exactOptional()
      .describe('The number of records that was counted: the proof says why another number was erased'),
    reference,
    wait: wait.default(0).describe('Wait up to this many ms for the end of the job'),
  }).describe(
    'Erases the stored data about one person, as a job. Without confirm, only counts it, by place.',
  ),
}

/** Messages that name a person in their text, for operators only. Throws `forbidden`. */
export const messageErasure = {
  erase: closed({
    id: spoken(messageIds.exactOptional(), { id: 'message' }),
    naming: spoken(
      identities
        .exactOptional()
        .describe(
          'Instead of ids: the messages of others that have the address or id of this person in their text',
        ),
      { type: 'identity', several: true },
    ),
    confirm: z.boolean().default(false).describe('Erase the data; otherwise only count it'),
    reference,
    wait: wait.default(0).describe('Wait up to this many ms for the end of the job'),
  }).describe(
    'Erases the stored data about some messages, as a job: replies, events, lines of the transcript and others. Without confirm, only counts it, by place.',
  ),
}

/** Who wrote, for operators only. Throws `forbidden`. */
export const personList = {
  list: closed({
    name: spoken(optional('Words of the name, address or id; case and accents are ignored'), { words: true }),
    gateway: optional('Only messages of this gateway'),
    since: time.exactOptional().describe('Only messages since a time, or an age such as 2h'),
    until: time.exactOptional().describe('Only messages before a time, or older than an age such as 2h'),
    messages: z
      .int()
      .min(1)
      .max(100_000)
      .default(10_000)
      .describe('Maximum number of newest messages that are counted'),
    before: spoken(optional('Only older messages: the `next` of an answer'), { id: 'message' }),
    limit: limit.default(50).describe('Maximum number of people'),
    sort: z
      .enum(['last', 'waits', 'wrote', 'messages', 'name'])
      .default('last')
      .describe(
        'Who wrote last first (last), who waits longest for an answer or an approval first (waits), who wrote most first (wrote), most messages first with events about them (messages), or by name (name)',
      ),
  }).describe(
    'Lists people with the number of their messages, and how many of them they wrote themselves. The others are events from machines, such as orders.',
  ),
}

/** One or several kinds of open things, separated by commas: `unanswered,approval`. */
const openKinds = z
  .string()
  .transform((text, context) =>
    text.split(',').map((word) => {
      const group = groupNamed(word)
      if (group) return group
      context.addIssue(`expected some of ${openWords().join(', ')}, with commas between them`)
      return z.NEVER
    }),
  )
  .exactOptional()
  .describe(`Only this kind of open items, or several separated by commas: ${openWords().join(', ')}`)

/** What is open with people, for operators only. Throws `forbidden`. */
export const personOpen = {
  open: closed({
    identity: identities.exactOptional(),
    kind: openKinds,
    limit: limit.default(200).describe('Maximum number of people'),
  }).describe(
    'Lists open items of people, longest wait first: failed messages, undelivered replies, failed pushes, unanswered conversations, approvals, paused or retrying messages, and planned messages.',
  ),
}

/** One person, for operators only. Throws `forbidden`. */
export const personShow = {
  show: closed({
    identity: identities,
    limit: limit.default(10).describe('Maximum number of their texts'),
    events: limit.default(3).describe('Maximum number of events'),
    mentions: z
      .boolean()
      .default(false)
      .describe('Also search the messages of others that have their address or id in the text'),
  }).describe(
    'Shows how much a person wrote on which gateway, and what, newest first, with the answers. Events of machines about them are counted apart, and so are messages that pushes have not delivered yet, or that a replay sends again.',
  ),
}
