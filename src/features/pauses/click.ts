import { z } from 'zod'
import { routeSchema } from '../../config/route-schema.ts'
import type { RecordAudit } from '../../core/audit.ts'
import { authorOf } from '../../core/author.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { compileMember, isOperator } from '../../core/identity.ts'
import { pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { OperationMethod } from '../../core/operation.ts'
import { defineSkill, type Skill } from '../../core/skill.ts'
import type { Gateways } from '../../engine/gateways.ts'
import { defined } from '../../lib/defined.ts'
import type * as operations from './operations.ts'
import { HANDOVER_CLICK, isSame, type PauseRecords } from './records.ts'

/**
 * The route of clicks on "Take over" and "Hand back". `pausesOf` in `view.ts` ignores the pause of
 * the conversation for this route, so that clicks are handled during it.
 */
export const HANDOVER_ROUTE = routeSchema.parse({
  name: HANDOVER_CLICK,
  match: { transport: 'slack', 'data.handover.conversation': '*' },
  skill: HANDOVER_CLICK,
})

const clickSchema = z.object({ conversation: z.string(), action: z.enum(['take', 'back']) })

/** The setting `handover` of a gateway. */
const optionsSchema = z.object({
  /** Who may take over. */
  by: z.array(z.string()),
  /** Duration (ms). Absent: until it is handed back. */
  for: z.number().exactOptional(),
  /** As in `conversation-pause`. */
  drop: z.boolean(),
})

type Deps = {
  gateways: Pick<Gateways, 'spec'>
  pauses: Pick<PauseRecords, 'load'>
  record: RecordAudit
}

/**
 * The skill that handles a click. After a crash, the attempt is repeated: it recognises the change
 * of the first one, gives the same reply, and may add a second audit entry.
 */
export function handOverClick(deps: Deps): Skill {
  return defineSkill<unknown>({
    name: HANDOVER_CLICK,
    description: 'Handles clicks on the buttons to take over a conversation.',
    args: z.looseObject({}),
    async run({ message, call, services }) {
      const click = clickSchema.safeParse(message?.data.handover).data
      if (!message || !click) return undefined
      const { gateway } = message
      const options = optionsSchema.safeParse(pathGet(deps.gateways.spec(gateway)?.options, 'handover')).data
      const action = click.action === 'take' ? 'conversation-pause' : 'conversation-resume'
      const recordOutcome = (outcome: string) =>
        deps.record({
          by: call.caller.id ?? 'unknown',
          via: 'gateway',
          action,
          outcome,
          target: { gateway, conversation: click.conversation },
        })
      if (!options || !mayTakeOver(options, call)) {
        await recordOutcome('forbidden')
        const what = click.action === 'take' ? 'Taking over' : 'Handing back'
        return privateReply(`${what} is not allowed: you are not in \`handover: { by }\` of the gateway.`)
      }
      const handle = click.action === 'take' ? takeOver : handBack
      const pauses = (method: PauseMethod) => services.operation('pauses', method)
      const records = deps.pauses
      return handle({ message, click, options, call, pauses, records, recordOutcome })
    },
  })
}

/** The result of `pause-list`. */
const pausesSchema = z.array(
  z.object({
    kind: z.string(),
    name: z.string(),
    by: z.string(),
    since: z.number(),
    gateway: z.string().exactOptional(),
  }),
)

type PauseMethod = keyof typeof operations.pauses

type ClickContext = {
  message: Message
  click: z.infer<typeof clickSchema>
  options: z.infer<typeof optionsSchema>
  call: Call
  /** An operation of pauses. */
  pauses(method: PauseMethod): OperationMethod
  records: Deps['pauses']
  /** Adds the outcome of the click to the audit log. */
  recordOutcome(outcome: string): Promise<void>
}

/** Replies with the new state of the buttons. Only the person who clicked sees a refusal. */
async function takeOver({
  message,
  click: { conversation },
  options,
  call,
  pauses,
  recordOutcome,
}: ClickContext) {
  const { gateway, receivedAt } = message
  const by = authorOf(call.caller)
  const all = pausesSchema.parse(await pauses('pause-list')({}, call))
  const existing = all.find(
    (pause) => pause.kind === 'conversation' && pause.gateway === gateway && pause.name === conversation,
  )
  // Whether an earlier attempt on this click began the pause.
  const isDone = existing?.by === by && existing.since >= receivedAt
  if (existing && !isDone) return privateReply(`Taken over already, by ${existing.by}.`)
  if (!isDone) {
    const settings = { drop: options.drop, reason: 'taken over in Slack', ...defined({ for: options.for }) }
    await pauses('conversation-pause')({ conversation, gateway, ...settings }, call)
  }
  await recordOutcome('ok')
  return { text: '', data: { handover: { state: 'taken', by, ...defined({ for: options.for }) } } }
}

async function handBack({
  message,
  click: { conversation },
  call,
  pauses,
  records,
  recordOutcome,
}: ClickContext) {
  const { gateway, receivedAt } = message
  const by = authorOf(call.caller)
  const { ended = [] } = await records.load()
  // Whether an earlier attempt on this click ended the pause.
  const isDone = ended.some(
    (pause) =>
      isSame(pause, { kind: 'conversation', gateway, name: conversation }) &&
      pause.endedBy === by &&
      pause.endedAt >= receivedAt,
  )
  if (!isDone) {
    const refusal = await resume({ conversation, gateway }, pauses, call)
    if (refusal !== undefined) return privateReply(refusal)
  }
  await recordOutcome('ok')
  return { text: '', data: { handover: { state: 'back', by } } }
}

/** Ends the pause of a conversation, or returns the reason why there is nothing to end. */
async function resume(
  target: { conversation: string; gateway: string },
  pauses: ClickContext['pauses'],
  call: Call,
): Promise<string | undefined> {
  try {
    const result = await pauses('conversation-resume')(target, call)
    const { existed } = z.object({ existed: z.boolean() }).parse(result)
    return existed ? undefined : 'No one has taken over; the bot answers messages here.'
  } catch (error) {
    // The conversation has no pause, and its messages have expired.
    if (error instanceof TriviumError && error.code === 'not_found') return 'There is nothing to hand back.'
    throw error
  }
}

function mayTakeOver({ by }: z.infer<typeof optionsSchema>, { caller }: Call): boolean {
  if (isOperator(caller)) return true
  return caller.id !== undefined && by.some((member) => compileMember(member)(caller))
}

/** A reply that only the person who clicked sees. */
function privateReply(text: string) {
  return { text, data: { ephemeral: true } }
}
