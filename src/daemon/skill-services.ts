import { currencyOf } from '../core/budget.ts'
import type { Services } from '../core/services.ts'
import { createJobItems, withJobDetails } from '../engine/job-details.ts'
import { createKnownNames, type KnownNames } from '../engine/known-names.ts'
import { createLettersOfJobs } from '../engine/letters-of-jobs.ts'
import { withoutFilteredGroups } from '../engine/message-groups.ts'
import { createRetriedItems } from '../engine/retried-items.ts'
import type { Approvals } from '../features/approvals/create-approvals.ts'
import { withPauses } from '../features/approvals/with-pauses.ts'
import { createConversationNotes } from '../features/conversation-notes/service.ts'
import { createRunCancel } from '../features/pauses/cancel.ts'
import { createWithHandovers } from '../features/pauses/handovers.ts'
import { withPauseList } from '../features/pauses/pause-list.ts'
import { withWaits } from '../features/person/list-waits.ts'
import { createPersonOpen } from '../features/person/open.ts'
import { createPersonShow } from '../features/person/show.ts'
import { withPushFilter } from '../features/push/group-filters.ts'
import { withPushStates } from '../features/push/group-states.ts'
import { withDeliveries } from '../features/push/message-deliveries.ts'
import type { createPush } from '../features/push/push.ts'
import { createSavedViews } from '../features/saved-views/service.ts'
import { storePausedSince } from '../features/store-pause/record.ts'
import type { TroubleService } from '../features/troubles/service.ts'
import type { ReadBudgets } from './budgets.ts'
import { type OperationServices, operationsOf } from './built-in-skills.ts'
import type { createDurableParts } from './durable.ts'
import type { Foundation } from './foundation.ts'
import { groupMatches } from './group-matches.ts'
import type { makePeople } from './people.ts'
import type { Roads } from './roads.ts'
import type { makeSkills } from './skills.ts'
import { withNames } from './with-names.ts'

/** `ctx.services`: the operations of all parts. */
export function skillServices(
  base: Foundation,
  parts: {
    roads: Roads
    skills: ReturnType<typeof makeSkills>
    durable: ReturnType<typeof createDurableParts>
    approvals: Approvals
    people: ReturnType<typeof makePeople>
    push: ReturnType<typeof createPush>
    troubleService: TroubleService
    budgets: ReadBudgets
  },
): Services {
  const { roads, skills, durable, approvals, people, push, troubleService } = parts
  const { isPush, stateOf } = push
  const { gateways, ...roadServices } = roads.services
  const matchOf = groupMatches(roads, push)
  const names = createKnownNames(base.store.journal)
  const notes = createConversationNotes({ ...base, retention: () => base.config().daemon.retention })
  const pauses = pausesOf(base, parts)
  const requests = withPauses(approvals.service, roads.holding.pausesOf, base.store.journal, (skill) =>
    roads.pauses.view.pauseOfSkill(skill),
  )
  const operations: OperationServices = {
    ...roadServices,
    ...durable.services,
    messages: {
      ...roadServices.messages,
      show: withDeliveries(withoutFilteredGroups(roadServices.messages.show, matchOf), isPush, stateOf),
    },
    conversations: conversationsOf(roads, notes),
    conversationNotes: notes.service,
    gateways,
    installs: gateways,
    refusals: gateways,
    pauses,
    sessions: skills.services.sessions,
    callbacks: skills.services.callbacks,
    approvals: requests,
    audit: base.audit.service,
    usage: skills.usage.service({
      currency: () => currencyOf(base.config().model),
      budgets: parts.budgets,
      requireSkill: skills.manager.describe,
    }),
    events: eventsOf(roads, push),
    subscriptions: push.service,
    longJobs: longJobsOf(base, push, {
      retries: roadServices.deadLetters.retries,
      attempts: roadServices.messages.attempts,
      pauses: (call) => pauses['pause-list']({}, call),
    }),
    storePause: base.storePause.service,
    people: people.service,
    messageErasure: people.messages,
    ...openWithPeople(base, { roads, approvals, people, names, notes }),
    personShow: createPersonShow({ ...base, ...people, ...push, subscriptions: push.service.list }),
    savedViews: createSavedViews(base),
    troubles: troubleService,
    tasks: durable.services.workbench,
  }
  return {
    ...skills.services,
    approvals: approvals.service,
    calls: durable.services.calls,
    artifacts: roads.services.artifacts,
    operation: withNames(names, operationsOf(operations)),
  }
}

/** `conversation-…`, with notes and take-overs. */
function conversationsOf(
  { services: { conversations }, pauses }: Roads,
  notes: ReturnType<typeof createConversationNotes>,
) {
  const show = createWithHandovers(pauses.view)(conversations.show)
  return { ...conversations, list: notes.inList(conversations.list), show: notes.withNotes(show) }
}

/** `event-…`, with the states and the filters of pushes. */
function eventsOf({ services: { events } }: Roads, { service, matchOf }: ReturnType<typeof createPush>) {
  return {
    ...events,
    groups: withPushStates(events.groups, service.list),
    replay: withPushFilter(events.replay, matchOf),
    seek: withPushFilter(events.seek, matchOf),
    skip: withPushFilter(events.skip, matchOf),
    unread: withPushFilter(events.unread, matchOf),
  }
}

/** `job-…`, with the messages and events of a job. */
function longJobsOf(
  { store, longWork, replay }: Foundation,
  { undeliveredEventsOf, itemStates }: ReturnType<typeof createPush>,
  deps: Omit<Parameters<typeof withJobDetails>[1], 'eventsOf'>,
) {
  const { service, ofKind } = longWork
  const retried = createLettersOfJobs({ kv: store.kv, ofKind })
  return {
    ...service,
    show: withJobDetails(service.show, { ...deps, eventsOf: undeliveredEventsOf }),
    items: createJobItems({
      show: service.show,
      attempts: deps.attempts,
      ofReplay: replay.items(itemStates),
      ofRetry: createRetriedItems({ store, retried }),
    }),
  }
}

/** `person-open`, from the data of other parts, and the list of people, which can sort by it. */
function openWithPeople(
  { store, longWork, router }: Foundation,
  {
    roads,
    approvals,
    people: { list, requireGateways },
    names,
    notes,
  }: {
    roads: Roads
    approvals: Approvals
    people: ReturnType<typeof makePeople>
    names: KnownNames
    notes: ReturnType<typeof createConversationNotes>
  },
) {
  const personOpen = createPersonOpen({
    store,
    requireGateways,
    nameOf: names.of,
    notesFor: notes.notesFor,
    sends: roads.services.sends.list,
    work: longWork,
    conversations: roads.services.conversations.list,
    approvals: approvals.service.list,
    held: () => roads.pauses.view.list().flatMap((pause) => (pause.kind === 'conversation' ? [pause] : [])),
    pausesOf: (message) => roads.holding.pausesOf(message, router.match(message)?.name),
  })
  return { personOpen, personList: withWaits(list, personOpen) }
}

/** The operations of pauses, with those that need parts beside the roads. */
function pausesOf(
  { store, now }: Foundation,
  {
    roads,
    durable,
    approvals,
    push,
  }: Pick<Parameters<typeof skillServices>[1], 'roads' | 'durable' | 'approvals' | 'push'>,
) {
  const runCancel = createRunCancel({ ...store, ...roads, requests: approvals.service, now })
  const service = { ...roads.services.pauses, 'run-cancel': runCancel }
  const pausedSince = () => storePausedSince(store.kv)
  return withPauseList(service, { roads, push, durable, ...store, storePausedSince: pausedSince })
}
