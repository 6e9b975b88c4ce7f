import type { OperationMethod, ServiceOf } from '../core/operation.ts'
import type { Skill } from '../core/skill.ts'
import { events } from '../engine/operations/events.ts'
import { gateways, installs, refusals } from '../engine/operations/gateways.ts'
import { longJobs } from '../engine/operations/jobs.ts'
import { conversations, deadLetters, messages } from '../engine/operations/messages.ts'
import { approvals } from '../features/approvals/operations.ts'
import { answeringSlips } from '../features/assistant/answering-slips.ts'
import { assistant, delegations } from '../features/assistant/operations.ts'
import { audit } from '../features/audit/operations.ts'
import { calls } from '../features/calls/operations.ts'
import { pauses } from '../features/pauses/operations.ts'
import { people } from '../features/person/operations.ts'
import { subscriptions } from '../features/push/operations.ts'
import { schedules } from '../features/schedules/operations.ts'
import { sends } from '../features/send-later/operations.ts'
import { usage } from '../features/usage/operations.ts'
import { tasks, workbench } from '../features/workbench/operations.ts'
import { annotated } from '../runtime/annotations.ts'
import { operationSkills } from '../runtime/operation-skills.ts'
import { callbacks, sessions } from '../runtime/operations.ts'
import { artifactSave, askPerson, stateSkills } from '../runtime/own-skills.ts'

/** The parts with operations. Each method is a skill with the prefix of its part. */
const PARTS = {
  events: { prefix: 'event-', offered: events },
  gateways: { prefix: 'gateway-', offered: gateways },
  installs: { prefix: 'slack-', offered: installs },
  refusals: { prefix: '', offered: refusals },
  sends: { prefix: 'send-', offered: sends },
  pauses: { prefix: '', offered: pauses },
  messages: { prefix: 'message-', offered: messages },
  conversations: { prefix: 'conversation-', offered: conversations },
  sessions: { prefix: 'session-', offered: sessions },
  callbacks: { prefix: 'callback-', offered: callbacks },
  approvals: { prefix: 'approval-', offered: approvals },
  deadLetters: { prefix: 'dead-letter-', offered: deadLetters },
  subscriptions: { prefix: 'subscription-', offered: subscriptions },
  audit: { prefix: 'audit-', offered: audit },
  people: { prefix: 'person-', offered: people },
  longJobs: { prefix: 'job-', offered: longJobs },
  usage: { prefix: '', offered: usage },
  calls: { prefix: 'call-', offered: calls },
  assistant: { prefix: '', offered: assistant },
  delegations: { prefix: 'delegation-', offered: delegations },
  schedules: { prefix: 'schedule-', offered: schedules },
  workbench: { prefix: 'workbench-', offered: workbench },
  tasks: { prefix: 'task-', offered: tasks },
} as const

type Parts = typeof PARTS

/** The services behind the skills. */
export type OperationServices = { [Part in keyof Parts]: ServiceOf<Parts[Part]['offered']> }

/** The skills that are part of the daemon. */
export const builtInSkills: readonly Skill[] = [
  ...Object.entries(PARTS).flatMap(([part, { prefix, offered }]) => {
    const skills = operationSkills(part, prefix, offered)
    return offered === assistant || offered === delegations ? skills.map(answeringSlips) : skills
  }),
  ...stateSkills,
  artifactSave,
  askPerson,
].map(annotated)

/** Finds the methods of services for `ctx.services`. */
export function operationsOf(
  services: Partial<OperationServices>,
): (part: string, method: string) => OperationMethod {
  const parts: Record<string, Record<string, OperationMethod> | undefined> = services
  return (part, method) => {
    const found = parts[part]?.[method]
    if (found) return found
    throw new Error(`there is no operation ${part}.${method}`)
  }
}
