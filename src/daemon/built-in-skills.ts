import type { OperationMethod, Operations, ServiceOf } from '../core/operation.ts'
import type { Skill } from '../core/skill.ts'
import { events } from '../engine/operations/events.ts'
import { gateways, installs, refusals } from '../engine/operations/gateways.ts'
import { longJobs } from '../engine/operations/jobs.ts'
import { conversations, deadLetters, messages } from '../engine/operations/messages.ts'
import { approvals } from '../features/approvals/operations.ts'
import { assistant, delegations } from '../features/assistant/operations.ts'
import { replyWithUserErrors } from '../features/assistant/reply-with-user-errors.ts'
import { audit } from '../features/audit/operations.ts'
import { calls } from '../features/calls/operations.ts'
import { conversationNotes } from '../features/conversation-notes/operations.ts'
import { pauses } from '../features/pauses/operations.ts'
import { messageErasure, people, personList, personOpen, personShow } from '../features/person/operations.ts'
import { subscriptions } from '../features/push/operations.ts'
import { savedViews } from '../features/saved-views/operations.ts'
import { schedules } from '../features/schedules/operations.ts'
import { sends } from '../features/send-later/operations.ts'
import { storePause } from '../features/store-pause/operations.ts'
import { troubles } from '../features/troubles/operations.ts'
import { usage } from '../features/usage/operations.ts'
import { tasks, workbench } from '../features/workbench/operations.ts'
import { withAnnotations } from '../runtime/annotations.ts'
import { operationSkills } from '../runtime/operation-skills.ts'
import { callbacks, sessions } from '../runtime/operations.ts'
import { artifactSave, askPerson, stateSkills } from '../runtime/own-skills.ts'

type OperationGroup = {
  /** Begins the name of each skill. */
  prefix: string
  operations: Operations
  /** Errors that a person made in a message are its reply. */
  repliesWithUserErrors?: true
}

/** The operations of each service. Each operation is a skill. */
const GROUPS = {
  events: { prefix: 'event-', operations: events },
  gateways: { prefix: 'gateway-', operations: gateways },
  installs: { prefix: 'slack-', operations: installs },
  refusals: { prefix: '', operations: refusals },
  sends: { prefix: 'send-', operations: sends },
  pauses: { prefix: '', operations: pauses },
  storePause: { prefix: 'daemon-', operations: storePause },
  messages: { prefix: 'message-', operations: messages },
  conversations: { prefix: 'conversation-', operations: conversations },
  conversationNotes: { prefix: 'conversation-', operations: conversationNotes },
  sessions: { prefix: 'session-', operations: sessions },
  callbacks: { prefix: 'callback-', operations: callbacks },
  approvals: { prefix: 'approval-', operations: approvals },
  deadLetters: { prefix: 'dead-letter-', operations: deadLetters },
  subscriptions: { prefix: 'subscription-', operations: subscriptions },
  audit: { prefix: 'audit-', operations: audit },
  people: { prefix: 'person-', operations: people },
  personList: { prefix: 'person-', operations: personList },
  personOpen: { prefix: 'person-', operations: personOpen },
  personShow: { prefix: 'person-', operations: personShow },
  messageErasure: { prefix: 'message-', operations: messageErasure },
  longJobs: { prefix: 'job-', operations: longJobs },
  usage: { prefix: '', operations: usage },
  calls: { prefix: 'call-', operations: calls },
  assistant: { prefix: '', operations: assistant, repliesWithUserErrors: true },
  delegations: { prefix: 'delegation-', operations: delegations, repliesWithUserErrors: true },
  schedules: { prefix: 'schedule-', operations: schedules },
  workbench: { prefix: 'workbench-', operations: workbench },
  tasks: { prefix: 'task-', operations: tasks },
  savedViews: { prefix: 'view-', operations: savedViews },
  troubles: { prefix: 'trouble-', operations: troubles },
} as const satisfies Record<string, OperationGroup>

type Groups = typeof GROUPS

/** The services behind the skills. */
export type OperationServices = { [Service in keyof Groups]: ServiceOf<Groups[Service]['operations']> }

/** The skills that are part of the daemon. */
export const builtInSkills: readonly Skill[] = [
  ...Object.entries<OperationGroup>(GROUPS).flatMap(([service, group]) => {
    const skills = operationSkills(service, group.prefix, group.operations)
    return group.repliesWithUserErrors ? skills.map(replyWithUserErrors) : skills
  }),
  ...stateSkills,
  artifactSave,
  askPerson,
].map(withAnnotations)

/** Makes the function that finds the method of a service, or throws. For `ctx.services`. */
export function operationsOf(
  services: Partial<OperationServices>,
): (service: string, method: string) => OperationMethod {
  const byName: Record<string, Record<string, OperationMethod> | undefined> = services
  return (service, method) => {
    const found = byName[service]?.[method]
    if (found) return found
    throw new Error(`there is no operation ${service}.${method}`)
  }
}
