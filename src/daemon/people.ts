import { transports } from '../../transports/registry.ts'
import type { Route } from '../core/route.ts'
import { filesSavedFor } from '../features/artifacts/artifact-service.ts'
import { type AssistantMemory, createFilePlaces, type SearchIndex } from '../features/person/file-places.ts'
import { createLaterFilter } from '../features/person/later-messages.ts'
import { createNotePlace } from '../features/person/note-place.ts'
import { createPeople } from '../features/person/people.ts'
import { createRecordsPlace } from '../features/person/record-place.ts'
import { createJournalPlace, createStorePlaces } from '../features/person/store-places.ts'
import { createValuePlaces, type SkillValues } from '../features/person/value-places.ts'
import type { createPush } from '../features/push/push.ts'
import { usageOfPerson } from '../features/usage/forget-person.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { Foundation } from './foundation.ts'
import { groupMatches } from './group-matches.ts'
import type { Roads } from './roads.ts'

/** Makes the export and erasure of a person's data, with the list of all places that have it. */
export function makePeople(
  base: Foundation,
  personalData: {
    values: SkillValues
    memory: AssistantMemory
    /** The copy of the assistant's document in the data directory, if the store is Redis. */
    copy: AssistantMemory | undefined
    index: SearchIndex
    manager: Pick<SkillManager, 'describe'>
    roads: Pick<Roads, 'groups'>
    push: Pick<ReturnType<typeof createPush>, 'waitingOf' | 'matchOf'>
  },
) {
  const { roads, push, manager } = personalData
  const { config, store, router, artifacts, logs, audit, dataDir, longWork, log, now } = base
  const places = [
    ...createStorePlaces(store),
    createRecordsPlace(store.kv, usageOfPerson, createLaterFilter(store.journal)),
    ...createValuePlaces(personalData.values),
    createNotePlace(store.kv),
    ...createFilePlaces({ ...personalData, logs: logs.lines, artifacts }),
    createJournalPlace(store, push.waitingOf),
  ]
  return createPeople({
    store,
    artifacts,
    places,
    dataDir,
    log,
    now,
    work: longWork,
    record: audit.record,
    transcript: logs.lines.messages.entries,
    savedFor: (scopes, wroteIn) => filesSavedFor(store.kv, scopes, wroteIn),
    gateways: () => config().gateways.map(({ name }) => name),
    matchOf: groupMatches(roads, push),
    mayCallModel: (route) => mayCallModel(router.routes(), manager, route),
    outside() {
      const { gateways, model, transcribe } = config()
      const models = [model?.name, ...(model?.fallback ?? []), transcribe?.model]
      return { gateways, models: models.filter((name) => name !== undefined) }
    },
    isCaseless(gateway) {
      const kind = config().gateways.find(({ name }) => name === gateway)?.transport
      return (kind !== undefined && transports[kind]?.caseless) ?? false
    },
  })
}

/** Whether the skill of a route may call a model itself. Code skills fail with the error of a model. */
function mayCallModel(
  routes: readonly Pick<Route, 'name' | 'skill'>[],
  manager: Pick<SkillManager, 'describe'>,
  name: string,
): boolean {
  const route = routes.find((each) => each.name === name)
  if (!route) return true
  if (route.skill === undefined) return false
  try {
    return manager.describe(route.skill).kind !== 'code'
  } catch {
    return true
  }
}
