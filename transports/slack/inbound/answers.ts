import { z } from 'zod'
import { reasonOf } from '../../../src/core/errors.ts'
import { isJsonObject, type JsonObject, objectAt, textAt } from '../../../src/core/json.ts'
import { compilePattern } from '../../../src/core/pattern.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import { viewSchema } from '../outbound/slack-fields.ts'
import { type Acknowledgement, type Delivery, isExternal } from './delivery.ts'
import type { SlackInbound } from './inbound.ts'

/**
 * Slack waits 3 s for a response (https://docs.slack.dev/interactivity/handling-user-interaction).
 */
const TIMEOUT_MS = 2_500
/** Maximum number of options, and of groups of options. */
const MAX_OPTIONS = 100
/** See https://docs.slack.dev/reference/block-kit/composition-objects/option-object. */
const MAX_TEXT = 75
const NO_OPTIONS = { options: [] }

/** Answers of Bolt apps to option requests and accepted payloads. Undefined if none answers. */
type BoltAnswers = {
  suggest(delivery: Delivery): Promise<object | undefined>
  answer(messageId: string, delivery: Delivery): Promise<object | undefined>
}

/**
 * Creates the function that takes a payload and resolves with the response to Slack. A person waits
 * for it: for the options of a select while they type, or for the result of a submitted modal. The
 * response comes from a skill in `answers`, or else from Bolt apps. The skill of a modal may reject
 * the submission before it is accepted. Option requests are not stored.
 */
export function createAnswers(
  { answers }: SlackOptions,
  deps: SlackDeps,
  take: SlackInbound['take'],
  bolt: BoltAnswers,
  groupsOf: (user: string) => string[] | undefined,
) {
  const { gateway } = deps
  const skills = Object.entries(answers).map(([name, skill]) => ({ pattern: compilePattern(name), skill }))
  const skillFor = (name: string) => skills.find(({ pattern }) => pattern.test(name))?.skill

  /** Invokes a skill as the waiting person, with the values of the form. Rejects on failures. */
  const ask = async <T>(skill: string, delivery: Delivery, question: JsonObject, answer: z.ZodType<T>) => {
    const { payload } = delivery
    const user = textAt(payload, 'user.id') ?? ''
    const name = textAt(payload, 'user.name') ?? textAt(payload, 'user.username')
    const view = objectAt(payload, 'view')
    const args = defined({
      gateway,
      team: textAt(payload, 'team.id'),
      user,
      userName: name,
      ...question,
      blockId: textAt(payload, 'block_id'),
      channel: textAt(payload, 'channel.id'),
      values: view.state === undefined ? undefined : objectAt(view, 'state.values'),
      metadata: textAt(view, 'private_metadata'),
    })
    const external = isExternal(delivery) || undefined
    const groups = external ? undefined : groupsOf(user)
    const from = defined({ id: user, address: user, verified: true, external, name, groups })
    try {
      return answer.parse(await deps.ask(skill, args, { from, timeout: TIMEOUT_MS }))
    } catch (error) {
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : reasonOf(error)
      deps.refused('answer_failed', { why: reason })
      deps.log.error({ action: question.action, skill, reason }, 'a skill in `answers` gave no answer')
      throw error
    }
  }

  /** The options of a select. None after a failure: without a response, Slack shows an error. */
  const suggest = async (delivery: Delivery): Promise<object> => {
    const action = textAt(delivery.payload, 'action_id') ?? ''
    const typed = textAt(delivery.payload, 'value') ?? ''
    const skill = skillFor(action)
    if (skill !== undefined)
      return ask(skill, delivery, { asks: 'options', action, typed }, optionsSchema).catch(() => NO_OPTIONS)
    const options = await bolt.suggest(delivery)
    if (!options)
      deps.log.warn({ action }, 'a Slack select menu asks for options; set a skill for it in `answers`')
    return options ?? NO_OPTIONS
  }

  /** What a modal's skill returns; `{}` without one. If it rejects, Slack asks to try again. */
  const submissionResult = async (delivery: Delivery): Promise<z.infer<typeof submissionSchema>> => {
    const action = textAt(delivery.payload, 'view.callback_id') ?? ''
    const skill = delivery.payload.type === 'view_submission' ? skillFor(action) : undefined
    return skill === undefined ? {} : ask(skill, delivery, { asks: 'submission', action }, submissionSchema)
  }

  return async (delivery: Delivery): Promise<Acknowledgement> => {
    if (asksForOptions(delivery.payload)) return { response: await suggest(delivery) }
    const { errors = {}, view, clear } = await submissionResult(delivery)
    if (Object.keys(errors).length > 0) return { response: { response_action: 'errors', errors } }
    const taken = await take(delivery)
    if (!taken) return undefined
    // The new view has the id of the old one.
    if (view) return { ...taken, response: { response_action: 'update', view } }
    if (clear) return { ...taken, response: { response_action: 'clear' } }
    const response = taken.isAnsweredByApp ? await bolt.answer(taken.id, delivery) : undefined
    return { ...taken, ...defined({ response }) }
  }
}

/** Whether a payload asks for the options of a select: in blocks, legacy attachments or dialogs. */
function asksForOptions({ type, name, event }: JsonObject): boolean {
  return type === 'block_suggestion' || (name !== undefined && event === undefined)
}

const plainText = z
  .string()
  .min(1)
  .transform((text) => ({
    type: 'plain_text' as const,
    text: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text,
  }))

const option = z
  .union([
    z.string().transform((text) => ({ text, value: text })),
    z.object({ text: z.string(), value: z.string().exactOptional(), description: plainText.exactOptional() }),
  ])
  .transform(({ text, value = text, ...rest }) => ({ text: plainText.parse(text), value, ...rest }))

const options = z.array(option).transform((list) => list.slice(0, MAX_OPTIONS))

const group = z.object({ label: plainText, options })

/**
 * A skill's answer for a select: `['Berlin']`, `[{text, value}]`, or groups of these, `[{label,
 * options}]`.
 */
const optionsSchema = z.union([
  z.null().transform(() => ({ options: [] })),
  options.transform((list) => ({ options: list })),
  z.array(group).transform((groups) => ({ option_groups: groups.slice(0, MAX_OPTIONS) })),
])

/** A skill's answer for a submitted modal; any other result accepts and closes it. */
const submissionSchema = z.preprocess(
  (result) => (isJsonObject(result) ? result : {}),
  z.object({
    errors: z.record(z.string(), z.string().min(1)).exactOptional(),
    view: viewSchema.exactOptional(),
    clear: z.boolean().exactOptional(),
  }),
)
