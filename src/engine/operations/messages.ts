import { z } from 'zod'
import { closed, limit, name, optional, time } from '../../core/arguments.ts'
import { ATTEMPTS_EXPECTED, attemptRange } from '../../core/attempt-range.ts'
import { isId } from '../../core/message-id.ts'
import { OUTCOMES } from '../../core/message-query.ts'
import { parseSearch, SEARCH_KEYS } from '../../core/search-words.ts'
import { spoken } from '../../core/spoken.ts'
import { DAY } from '../../core/units.ts'
import { FAILED, outcomesNamed } from '../../lib/outcomes.ts'

const outcome = z
  .string()
  .transform((names) => names.split(',').flatMap(outcomesNamed))
  .pipe(z.array(z.enum(OUTCOMES)))

const attempts = z.string().transform((text, context) => {
  const range = attemptRange(text)
  if (range) return range
  context.addIssue(`expected ${ATTEMPTS_EXPECTED}`)
  return z.NEVER
})

const older = spoken(
  name
    .refine(isId, 'expected the id of a message')
    .exactOptional()
    .describe('Only messages older than this id'),
  { id: 'message' },
)

/** At least four characters: fewer fit too many ids. */
const idPart = z
  .string()
  .regex(/^[0-9a-f-]{4,36}$/i, 'expected at least four characters of the beginning or end of an id')
  .transform((part) => part.toLowerCase())

const searchWords = z
  .string()
  .max(2_000)
  .transform((text, context) => {
    try {
      return parseSearch(text)
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : String(error))
      return z.NEVER
    }
  })
  .exactOptional()
  .describe(
    `Search words: ${Object.keys(SEARCH_KEYS).join(':, ')}: and parts of the subject, text, sender or event name, in quotes if they contain spaces; or a message id or an idempotency key`,
  )

const ofConversation = spoken(optional('Only messages of this conversation'), { id: 'conversation' })

/** The filter for messages, in searches and in the live stream. */
export const messageFilter = closed({
  gateway: optional('Only messages of this gateway'),
  route: optional('Only messages that this route took'),
  transport: optional('Only of this transport: email, slack, webhook, …'),
  conversation: ofConversation,
  event: optional('Only with this event name of webhooks or Slack'),
  sender: optional('Part of the id, name or address of the sender; case and accents are ignored'),
  text: optional(
    'Part of the subject, the text (its first 16,000 characters) or the query of a webhook; case and accents are ignored',
  ),
  outcome: outcome
    .exactOptional()
    .describe(
      `The outcome, or several separated by commas: ${OUTCOMES.join(', ')}; failed: ${FAILED.join(' or ')}`,
    ),
  attempts: attempts
    .exactOptional()
    .describe(`Only with this number of ended attempts: ${ATTEMPTS_EXPECTED.replace(/^.*such as /, '')}`),
  since: time.exactOptional().describe('Only since a time, or an age such as 2h'),
  until: time.exactOptional().describe('Only before a time, or older than an age such as 2h'),
  search: searchWords,
})

function isOneOrAll({ id, all }: { id?: string | string[]; all?: true }): boolean {
  return (id === undefined) !== (all === undefined)
}
const ONE_OR_ALL = 'give an id, or all: true'

/** Maximum number of messages of a call that retries several. */
const MOST_AT_ONCE = 200

/** The journal: `message-…`. */
export const messages = {
  list: closed({
    ...messageFilter.pick({
      gateway: true,
      conversation: true,
      sender: true,
      text: true,
      since: true,
      until: true,
    }).shape,
    answerable: z
      .literal(true)
      .exactOptional()
      .describe('Only messages that can be answered; most webhooks and queues are left out'),
    before: older,
    limit: limit.default(20).describe('Maximum number of messages'),
    /** Without it, a filter that matches little reads the whole journal in one call. */
    partial: z
      .literal(true)
      .exactOptional()
      .describe(
        'Stop after about a second: returns `messages`, and unless that is all, `next` (the `before` of the next call) and `searchedTo` (Unix ms)',
      ),
  }).describe('Lists messages, newest first. Stops before `limit` after 4 million characters of text.'),
  /** The time per page is limited. `next` is the `before` of the next page; absent at the end. */
  search: messageFilter
    .extend({
      before: older,
      limit: spoken(z.int().min(1).max(500).default(50).describe('Maximum number of messages'), {
        screenDefault: 20,
      }),
      id: idPart
        .exactOptional()
        .describe('Only the message with this id, or with this beginning or end of its id'),
    })
    .describe(
      'Searches messages, newest first. Returns summaries with their outcomes, and where to continue.',
    ),
  /**
   * The time per call is limited: times before `countedTo` are not counted yet. Call again with
   * that as `until`.
   */
  histogram: messageFilter
    .extend({
      buckets: z.int().min(1).max(500).default(60).describe('Approximate number of time spans'),
      width: z
        .int()
        .min(1_000)
        .max(28 * DAY)
        .exactOptional()
        .describe('Length of a span in ms, to continue a previous call'),
      routes: z
        .boolean()
        .exactOptional()
        .describe('Also counts the messages of each route; not for conditions on the content'),
    })
    .describe('Counts messages by arrival, in equal time spans, oldest first.'),
  /** Of a sample, if there are more than 400 messages. */
  durations: messageFilter
    .pick({ gateway: true, route: true, since: true, until: true })
    .describe(
      'Shows how long messages waited for their first attempt, how long attempts ran (p50, p95), and how many messages needed more than one; of the last day by default.',
    ),
  /** Throws `message_not_found`, and the errors of accepting a message. */
  resend: closed({
    id: spoken(name.describe('The id of a message or dead letter'), { id: 'message' }),
    text: z.string().exactOptional().describe('A new text; the sender then no longer counts as verified'),
    subject: z.string().exactOptional().describe('A new subject'),
  }).describe('Accepts a message again as a new message, which is answered in the same place.'),
  /**
   * With one id: throws `message_not_found`, `not_retrying`. Otherwise messages that are not in
   * back-off are skipped.
   */
  retry: closed({
    id: spoken(
      z
        .union([name, z.array(name).min(1).max(MOST_AT_ONCE)])
        .exactOptional()
        .describe('The id of the message, or of several'),
      { id: 'message' },
    ),
    all: z
      .literal(true)
      .exactOptional()
      .describe('Without an id: all messages in back-off that match the filter'),
    ...messageFilter.pick({ gateway: true, route: true, since: true, until: true, search: true }).shape,
    before: older,
    limit: limit
      .default(MOST_AT_ONCE)
      .describe('With all: maximum per call; `next` is the `before` of the next call, absent at the end'),
  })
    .refine(isOneOrAll, ONE_OR_ALL)
    .describe(
      'Starts the next attempts of messages, or of their replies, now instead of after the back-off.',
    ),
  replay: closed({
    since: time.describe('Only messages since a time, or an age such as 2h'),
    gateway: optional('Only messages of this gateway'),
    dryRun: z.boolean().default(false).describe('Only report what would be routed'),
  }).describe('Routes unrouted messages again with the current routes, oldest first.'),
  /** Messages that do not exist, or whose shard cannot be reached, are left out. */
  attempts: closed({
    ids: spoken(z.array(name).min(1).max(200).describe('The ids of the messages'), { id: 'message' }),
  }).describe(
    'Shows the outcome of each of several messages, and the last attempt: route, duration, error, or since when it runs; or what a message waits for.',
  ),
  /** Throws `message_not_found`. */
  show: closed({
    id: spoken(name.describe('The id of the message'), { id: 'message' }),
  }).describe('Shows a complete message and its history on each road.'),
}

const page = {
  before: spoken(optional('`next` of the previous page'), { id: 'message' }),
  limit: limit.default(50),
}

/** `conversation-…`: messages with their replies. */
export const conversations = {
  list: messageFilter
    .extend({
      ...page,
      answerable: spoken(
        z
          .literal(true)
          .exactOptional()
          .describe(
            'Only those in which somebody can be answered; single deliveries of webhooks and queues are left out',
          ),
        { unless: 'all', help: 'Also those of machines, which cannot be answered' },
      ),
      unanswered: z
        .literal(true)
        .exactOptional()
        .describe('Only those in which somebody waits for an answer'),
      forPerson: z
        .literal(true)
        .exactOptional()
        .describe('Only those that wait for an answer from a person, and that nobody has taken over'),
      undelivered: z
        .literal(true)
        .exactOptional()
        .describe('Only those in which the last answer was not delivered'),
      conversationPart: optional('Only conversations whose id begins or ends with this; case is ignored'),
    })
    .describe(
      'Lists conversations, with the newest message of each: those with the newest message or answer first; later pages may repeat some.',
    ),
  show: closed({
    gateway: name.describe('The gateway'),
    conversation: spoken(name.describe('The conversation'), { id: 'conversation' }),
    ...page,
  }).describe('Shows the newest messages and replies of a conversation, oldest first.'),
  /** Throws `not_found`, `newer_message`. */
  settle: closed({
    gateway: name.describe('The gateway'),
    conversation: spoken(name.describe('The conversation'), { id: 'conversation' }),
    newest: spoken(optional('Only if this is still its newest message'), { id: 'message' }),
    reason: optional('Why no answer is needed; shown in the conversation and in its history'),
  }).describe('Marks a conversation as settled: it needs no answer until its next message.'),
}

const letterQueue = {
  queue: optional('dispatch, receive, events, outbox, subscriptions, schedules or push/NAME'),
}
const deadLetter = {
  id: spoken(name.describe('The id of the dead letter'), { id: 'dead-letter' }),
  ...letterQueue,
}
const letterFilter = {
  ...letterQueue,
  group: spoken(optional('The route (dispatch) or the gateway (outbox)'), { flag: 'route', type: 'name' }),
  message: spoken(optional('Those of this message, and of the replies to it'), { id: 'message' }),
  search: optional(
    'Words in the last error, in the sender, conversation, subject or text of the message, or in the reply and its recipient',
  ),
  error: optional('Part of the last error; case is ignored'),
  code: optional('The code of the last error'),
  pattern: optional('The last error without numbers and ids, as returned by dead-letter-groups'),
  job: spoken(
    optional('Only those that this job retried and that failed again or were withdrawn, of its first 1,000'),
    { id: 'job' },
  ),
  since: time.exactOptional().describe('Dead since a time, or an age such as 2h'),
  until: time.exactOptional().describe('Dead before a time, or for longer than an age such as 2h'),
  arrivedSince: time
    .exactOptional()
    .describe('Those of messages that arrived since a time, or an age such as 2h'),
  arrivedUntil: time
    .exactOptional()
    .describe('Those of messages that arrived before a time, or an age such as 2h'),
}
/**
 * One dead letter, or with `all` those that match the filter: up to `limit`, oldest first, to keep
 * their order.
 */
const someLetters = {
  id: spoken(optional('The id of the dead letter'), { id: 'dead-letter' }),
  all: z.literal(true).exactOptional().describe('Without an id: all that match the filter'),
  ...letterFilter,
  limit: limit.default(500).describe('With all: maximum per call; `more` says whether there are others'),
}

/** Maximum number of dead letters that a job takes by their ids. */
const MOST_CHOSEN = 500

const chosenLetters = {
  ids: spoken(
    z
      .array(name)
      .min(1)
      .max(MOST_CHOSEN)
      .exactOptional()
      .describe(`Only those with these ids, up to ${MOST_CHOSEN}. Ids of several queues need the queue`),
    { id: 'dead-letter' },
  ),
}

/** Why dead letters are dropped. */
const letterReason = { reason: optional('Why; kept in the histories of the messages and in the audit log') }

/** `dead-letter-…`. Throws `dead_letter_not_found`: `show`, and with an id `retry` and `drop`. */
export const deadLetters = {
  list: closed({
    ...letterFilter,
    before: optional('"at/id" of the last entry of the previous page; an empty list is the end'),
    limit: spoken(limit.default(20).describe('Maximum number of dead letters'), { screenDefault: 50 }),
  }).describe('Lists dead letters, newest first.'),
  groups: closed({
    ...letterFilter,
    ...chosenLetters,
    recovery: z
      .literal(true)
      .exactOptional()
      .describe('Adds what was handled since the last failure, for the first 10 causes of routes'),
  }).describe('Counts dead letters by queue, route and error, most frequent first.'),
  /** Throws `job_not_found`. */
  retries: closed({
    job: spoken(optional('Only this job, as in job-list, with its messages'), { id: 'job' }),
    ...letterQueue,
    group: letterFilter.group,
    code: letterFilter.code,
    pattern: letterFilter.pattern,
    since: time.exactOptional().describe('Only since a time, or an age such as 2h'),
    limit: limit.default(20).describe('Maximum number of retries'),
  }).describe(
    'Lists the jobs that retried dead letters within a week, newest first, with the outcomes of their messages.',
  ),
  show: closed(deadLetter).describe('Shows a complete dead letter: its message, every attempt and error.'),
  retry: closed(someLetters)
    .refine(isOneOrAll, ONE_OR_ALL)
    .describe('Retries dead letters: puts them at the end of their lanes, with all attempts available.'),
  drop: closed({ ...someLetters, ...letterReason })
    .refine(isOneOrAll, ONE_OR_ALL)
    .describe('Removes dead letters permanently.'),
  bulk: closed({
    do: z.enum(['retry', 'drop']).describe('retry or drop'),
    ...letterFilter,
    ...chosenLetters,
    asOf: spoken(
      time
        .exactOptional()
        .describe('Only those that died before this time, for example when a list was shown'),
      { flag: 'as-of' },
    ),
    ...letterReason,
  }).describe('Retries or drops all dead letters that match the filter, as a job with progress.'),
}
