import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { humanAudit } from './commands/audit.ts'
import * as actions from './printers/actions.ts'
import { humanApprovals, humanDecision } from './printers/approvals.ts'
import { humanLetter, humanLetterGroups, humanLetters } from './printers/dead-letters.ts'
import { humanEvents } from './printers/events.ts'
import { humanJob, humanJobs, humanStartedJob } from './printers/jobs.ts'
import { LISTS } from './printers/lists.ts'
import { humanMessage } from './printers/message.ts'
import {
  humanAttempts,
  humanConversation,
  humanConversations,
  humanHistogram,
  humanMessages,
} from './printers/messages.ts'
import { humanCounted, humanErase, humanExport } from './printers/people.ts'
import { readable } from './printers/readable.ts'
import { humanSend } from './printers/send.ts'
import {
  humanSubscription,
  humanSubscriptionChange,
  humanSubscriptionDeletion,
} from './printers/subscription.ts'
import { paint, pretty, table } from './terminal.ts'
import { humanTroubles } from './troubles.ts'
import { humanCost, humanSkillUsage } from './usage-output.ts'

/**
 * Formats the result of a built-in skill: by a printer listed here, or else by `readable`. Stored
 * data (`state get`, `event wait`) and results of other skills are printed unchanged, as text or
 * indented JSON.
 */
export function humanResult(skill: string, result: Json, args: JsonObject, isBuiltIn: boolean): string {
  if (!isBuiltIn || RETURNS_DATA.has(skill)) return pretty(result)
  const printer = Object.hasOwn(PRINTERS, skill) ? PRINTERS[skill] : undefined
  if (printer) return printer(result, args)
  const list = Object.hasOwn(LISTS, skill) ? LISTS[skill] : undefined
  return list && Array.isArray(result) ? list(objectsIn(result)) : readable(result)
}

/** Skills that return stored data unchanged. */
const RETURNS_DATA = new Set([
  'state-get',
  'state-wait',
  'event-wait',
  'event-show',
  'gateway-receive',
  'callback-wait',
  'ask-person',
])

const PRINTERS: Readonly<Record<string, (result: Json, args: JsonObject) => string>> = {
  troubles: humanTroubles,
  cost: humanCost,
  'skill-usage': humanSkillUsage,
  'audit-list': humanAudit,
  'approval-list': humanApprovals,
  'approval-decide': humanDecision,
  'dead-letter-list': humanLetters,
  'dead-letter-groups': humanLetterGroups,
  'dead-letter-show': humanLetter,
  'dead-letter-retry': actions.humanLetterAction('retried'),
  'dead-letter-drop': actions.humanLetterAction('dropped'),
  'dead-letter-bulk': humanStartedJob,
  'event-list': humanEvents,
  'event-replay': humanStartedJob,
  'subscription-replay': humanStartedJob,
  'job-list': humanJobs,
  'job-show': humanJob,
  'message-list': humanMessages,
  'message-search': humanMessages,
  'message-show': humanMessage,
  'message-attempts': humanAttempts,
  'message-histogram': humanHistogram,
  'refused-try': actions.humanTriedSecret,
  'message-resend': actions.humanResend,
  'message-retry': actions.humanRetryNow,
  'message-replay': actions.humanReplay,
  'conversation-list': humanConversations,
  'conversation-show': humanConversation,
  'person-count': humanCounted,
  'person-export': humanExport,
  'person-erase': humanErase,
  'gateway-pause': actions.humanPause,
  'route-pause': actions.humanPause,
  'skill-pause': actions.humanPause,
  'conversation-pause': actions.humanPause,
  'gateway-resume': actions.humanResume('gateway'),
  'route-resume': actions.humanResume('route'),
  'skill-resume': actions.humanResume('skill'),
  'conversation-resume': actions.humanResume('conversation'),
  'gateway-reconnect': actions.humanGateway,
  'gateway-ack': actions.humanReceipt('acknowledged'),
  'gateway-nack': actions.humanReceipt('released'),
  'gateway-extend': actions.humanReceipt('leased for longer'),
  'gateway-send': humanSend,
  'schedule-create': actions.humanSchedule,
  'schedule-run': actions.humanRun,
  'schedule-pause': actions.humanSchedulePause,
  'schedule-resume': actions.humanSchedulePause,
  'schedule-delete': actions.humanDeletion('schedule'),
  'subscription-create': humanSubscriptionChange,
  'subscription-update': humanSubscriptionChange,
  'subscription-delete': humanSubscriptionDeletion,
  'subscription-show': humanSubscription,
  'subscription-pause': actions.humanSubscription('is paused: its events wait'),
  'subscription-resume': actions.humanSubscription('is resumed; waiting events are tried at once'),
}

/** `skill show`: a skill with its arguments, metadata and layers. */
export function humanSkill(skill: Json): string {
  const { name, description, kind, path, args, output, metadata, layers } = Object(skill)
  const { properties = {}, required = [] } = Object(args)
  const rows = Object.entries(Object(properties)).map(([property, schema]) => [
    property,
    typeOf(Object(schema)),
    required.includes(property) ? 'yes' : '',
    Object(schema).default === undefined ? '' : JSON.stringify(Object(schema).default),
    Object(schema).description ?? '',
  ])
  const layerRows = objectsIn(layers).map((layer) => [layer.name, layer.order, layer.description])
  const metadataRows = Object.entries(Object(metadata))
  return [
    `${paint('bold', String(name))}${kind ? ` (${kind})` : ''}`,
    ...(description ? [String(description)] : []),
    ...(path ? [String(path)] : []),
    '',
    rows.length > 0 ? table(['argument', 'type', 'required', 'default', ''], rows) : 'It takes no arguments.',
    ...(output ? ['', `Returns ${typeOf(Object(output))}.`] : []),
    ...(metadataRows.length > 0 ? ['', table(['metadata', ''], metadataRows)] : []),
    ...(layerRows.length > 0 ? ['', table(['layer', 'order', ''], layerRows)] : []),
  ].join('\n')
}

/** The type of a JSON Schema, for people: `list of string`, `"a" | "b"`. */
function typeOf(schema: JsonObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = objectsIn(schema.anyOf ?? schema.oneOf)
  if (choices.length > 0) return choices.map(typeOf).join(' | ')
  if (schema.type === 'array') return `list of ${typeOf(Object(schema.items))}`
  return [schema.type ?? 'any'].flat().join(' | ')
}
