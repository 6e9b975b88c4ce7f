import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject, jsonObjectSchema } from '../../../src/core/json.ts'
import type { Accepted } from '../../../src/core/message.ts'
import { compilePattern } from '../../../src/core/pattern.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined, objectAt, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import { forged } from '../outbound/extras.ts'
import { openMetadata, sealMetadata } from '../view-metadata.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import type { PayloadKind, SlackInbound } from './inbound.ts'
import { workspaceOf } from './workspace-of.ts'

/** What became of a payload that may be acknowledged; `response` is what the acknowledgement says. */
export type Taken = Accepted | { response: JsonObject } | undefined

/** Slack waits 3 s for an answer (https://docs.slack.dev/interactivity/handling-user-interaction). */
const TIMEOUT = 2500
/** https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
const MAX_OPTIONS = 100
const LONGEST_TEXT = 75

/**
 * Puts skills in front of `take` that answer Slack while a person waits: the options of a select that asks for them as
 * somebody types, and whether a submitted modal is accepted. Nothing of the asking is kept. Every other payload goes
 * straight on, and so does a submission once its skill lets it.
 */
export function createAnswers(
  options: Pick<SlackOptions, 'answers'>,
  deps: TransportDeps,
  workspaces: Workspaces,
  take: SlackInbound['take'],
): (kind: PayloadKind, payload: JsonObject) => Promise<Taken> {
  const skills = Object.entries(options.answers).map(([name, skill]) => ({
    pattern: compilePattern(name),
    skill,
  }))
  const skillFor = (name: string) => skills.find(({ pattern }) => pattern.test(name))?.skill

  const ask = (skill: string, payload: JsonObject, question: JsonObject) => {
    const user = textAt(payload, 'user.id') ?? ''
    const name = textAt(payload, 'user.name') ?? textAt(payload, 'user.username')
    const from = { id: user, address: user, verified: true, ...(name === undefined ? {} : { name }) }
    const who = defined({ gateway: deps.gateway, team: textAt(payload, 'team.id'), user, userName: name })
    return deps.ask(skill, { ...who, ...question }, { from, timeout: TIMEOUT })
  }

  /** A select that gets no answer would show an error; it says that nothing was found instead. */
  const suggest = async (payload: JsonObject, workspace: Workspace): Promise<Taken> => {
    const action = textAt(payload, 'action_id') ?? ''
    const skill = skillFor(action)
    if (skill === undefined) {
      deps.log.warn({ action }, 'a select of Slack asks for options; name a skill for it in `answers`')
      return { response: { options: [] } }
    }
    try {
      const found = await ask(skill, payload, {
        asks: 'options',
        action,
        typed: textAt(payload, 'value') ?? '',
        ...surroundings(payload, workspace),
      })
      return { response: optionsSchema.parse(found ?? []) }
    } catch (error) {
      failed(error, { action, skill }, 'the options of a select could not be found')
      return { response: { options: [] } }
    }
  }

  const submit = async (skill: string, payload: JsonObject, workspace: Workspace): Promise<Taken> => {
    const action = textAt(payload, 'view.callback_id') ?? ''
    let verdict: ReturnType<typeof verdictOf>
    try {
      const around = surroundings(payload, workspace)
      verdict = verdictOf(await ask(skill, payload, { asks: 'submission', action, ...around }))
      if (verdict.view) verdict.view = nextView(verdict.view, payload, workspace)
    } catch (error) {
      failed(error, { action, skill }, 'a modal could not be checked; Slack asks the person to try again')
      throw error
    }
    const { errors = {}, view, clear } = verdict
    if (Object.keys(errors).length > 0) return { response: { response_action: 'errors', errors } }
    const taken = await take('interaction', payload)
    if (view) return { response: { response_action: 'update', view } }
    return clear ? { response: { response_action: 'clear' } } : taken
  }

  /** The view that a skill shows in place of the submitted one: it was opened where that was. */
  const nextView = (view: JsonObject, payload: JsonObject, workspace: Workspace): JsonObject => {
    const reason = forged(view)
    if (reason !== undefined) throw new TriviumError('send_rejected', { gateway: deps.gateway, reason })
    const viewer = { user: textAt(payload, 'user.id') ?? '', workspace }
    const { place } = openMetadata(textAt(payload, 'view.private_metadata'), viewer)
    const metadata = sealMetadata(view.private_metadata, place, { gateway: deps.gateway, ...viewer })
    return { ...view, private_metadata: metadata }
  }

  const failed = (error: unknown, fields: object, what: string) => {
    deps.refused('answer_failed')
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : reasonOf(error)
    deps.log.error({ ...fields, reason }, what)
  }

  return (kind, payload) => {
    if (kind !== 'interaction') return take(kind, payload)
    const skill =
      payload.type === 'view_submission' ? skillFor(textAt(payload, 'view.callback_id') ?? '') : undefined
    const isAsked = payload.type === 'block_suggestion' || skill !== undefined
    const workspace = isAsked ? workspaceOf(payload, workspaces) : undefined
    if (!workspace) return take(kind, payload)
    return skill === undefined ? suggest(payload, workspace) : submit(skill, payload, workspace)
  }
}

/** What the skill may want to know besides: what else is filled in, and what whoever opened the modal left there. */
function surroundings(payload: JsonObject, workspace: Workspace): JsonObject {
  const view = objectAt(payload, 'view')
  const user = textAt(payload, 'user.id') ?? ''
  return defined({
    blockId: textAt(payload, 'block_id'),
    channel: textAt(payload, 'channel.id'),
    values: view.state === undefined ? undefined : objectAt(view, 'state.values'),
    metadata: openMetadata(textAt(view, 'private_metadata'), { user, workspace }).own,
  })
}

const plainText = z
  .string()
  .min(1)
  .transform((text) => ({
    type: 'plain_text' as const,
    text: text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text,
  }))

const option = z
  .union([
    z.string().transform((text) => ({ text, value: text })),
    z.object({
      text: z.string(),
      value: z.string().exactOptional(),
      description: plainText.exactOptional(),
    }),
  ])
  .transform(({ text, value = text, ...rest }) => ({ text: plainText.parse(text), value, ...rest }))

const options = z.array(option).transform((list) => list.slice(0, MAX_OPTIONS))

const group = z.object({ label: plainText, options })

/** What a skill answers a select: `['Berlin']`, `[{text, value}]`, or groups of these, `[{label, options}]`. */
const optionsSchema = z.union([
  options.transform((list) => ({ options: list })),
  z.array(group).transform((groups) => ({ option_groups: groups.slice(0, MAX_OPTIONS) })),
])

/** What a skill answers a submitted modal; anything else accepts it, and the modal closes. */
const verdictSchema = z.object({
  errors: z.record(z.string(), z.string().min(1)).exactOptional(),
  view: jsonObjectSchema.exactOptional(),
  clear: z.boolean().exactOptional(),
})

function verdictOf(said: Json): z.infer<typeof verdictSchema> {
  return isJsonObject(said) ? verdictSchema.parse(said) : {}
}
