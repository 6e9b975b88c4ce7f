import { z } from 'zod'
import { routeSchema } from '../../config/schema/route.ts'
import type { RecordAudit } from '../../core/audit.ts'
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
import { HANDOVER_CLICK } from './records.ts'

/**
 * Clicks on "Take over" and "Hand back" are handled by the runtime, even while the conversation is paused.
 */
export const HANDOVER_ROUTE = routeSchema.parse({
  name: HANDOVER_CLICK,
  match: { transport: 'slack', 'data.handover.conversation': '*' },
  skill: HANDOVER_CLICK,
})

const clickSchema = z.object({ conversation: z.string(), action: z.enum(['take', 'back']) })

/** Settings of a gateway: `by`: who may take over; `for`: for how long (ms). */
const optionsSchema = z.object({
  by: z.array(z.string()),
  for: z.number().exactOptional(),
  drop: z.boolean(),
})

/**
 * The skill that handles a click. Each click is processed once; an attempt that a crash interrupted is
 * repeated.
 */
export function handOverClick(deps: { gateways: Pick<Gateways, 'spec'>; record: RecordAudit }): Skill {
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
      const note = (outcome: string) =>
        deps.record({
          ...{ by: call.caller.id ?? 'unknown', via: 'gateway', action, outcome },
          target: { gateway, conversation: click.conversation },
        })
      if (!options || !mayTakeOver(options, call)) {
        await note('forbidden')
        const what = click.action === 'take' ? 'Taking over' : 'Handing back'
        return privately(`${what} is not allowed: you are not in \`handover: { by }\` of the gateway.`)
      }
      const reply = click.action === 'take' ? take : handBack
      const pauses = (method: PauseMethod) => services.operation('pauses', method)
      return reply({ message, click, options, call, pauses, note })
    },
  })
}

const pausesSchema = z.array(
  z.object({
    ...{ kind: z.string(), name: z.string(), by: z.string(), since: z.number() },
    gateway: z.string().exactOptional(),
  }),
)

type PauseMethod = keyof typeof operations.pauses

type Clicked = {
  message: Message
  click: z.infer<typeof clickSchema>
  options: z.infer<typeof optionsSchema>
  call: Call
  /** The operations of pausing. */
  pauses(method: PauseMethod): OperationMethod
  note(outcome: string): Promise<void>
}

async function take({ message, click: { conversation }, options, call, pauses, note }: Clicked) {
  const { gateway, receivedAt } = message
  const by = call.caller.id ?? call.caller.kind
  const all = pausesSchema.parse(await pauses('pause-list')({}, call))
  const standing = all.find(
    (one) => one.kind === 'conversation' && one.gateway === gateway && one.name === conversation,
  )
  // By this click, if the daemon was killed before it answered.
  const isDone = standing?.by === by && standing.since >= receivedAt
  if (standing && !isDone) return privately(`Taken over already, by ${standing.by}.`)
  if (!isDone) {
    const how = { drop: options.drop, reason: 'taken over in Slack', ...defined({ for: options.for }) }
    await pauses('conversation-pause')({ conversation, gateway, ...how }, call)
    await note('ok')
  }
  return { text: '', data: { handover: { state: 'taken', by, ...defined({ for: options.for }) } } }
}

async function handBack({ message, click: { conversation }, call, pauses, note }: Clicked) {
  const by = call.caller.id ?? call.caller.kind
  try {
    const ended = await pauses('conversation-resume')({ conversation, gateway: message.gateway }, call)
    const { existed } = z.object({ existed: z.boolean() }).parse(ended)
    if (!existed) return privately('No one has taken over; the bot answers messages here.')
  } catch (error) {
    if (error instanceof TriviumError && error.code === 'not_found')
      return privately('There is nothing to hand back.')
    throw error
  }
  await note('ok')
  return { text: '', data: { handover: { state: 'back', by } } }
}

function mayTakeOver({ by }: z.infer<typeof optionsSchema>, { caller }: Call): boolean {
  if (isOperator(caller)) return true
  return caller.id !== undefined && by.some((member) => compileMember(member)(caller))
}

/** Visible only to the person who clicked. */
function privately(text: string) {
  return { text, data: { ephemeral: true } }
}
