import { whenInWords } from '../../lib/schedule-words.ts'
import { call, isViewer, signOut } from './api.js'
import { authorOf } from './authors.js'
import { pausePush, replayGroup, replayPush, resumePush, tryPush } from './group-actions.js'
import { now } from './live.js'
import { act, ask, dateTime } from './parts.js'
import { canChange, changePause, pauseWith, untilOf } from './pause.js'
import { kindInWords } from './pause-form.js'
import { placeOfPause } from './pauses.js'
import { resumeWith } from './resume.js'
import { go } from './router.js'
import { pauseSchedule, resumeSchedule, runSchedule } from './schedule-actions.js'

const to = (path, query) => () => go(path, query)

/** What can be done anywhere. */
export function generalActions() {
  const reload = async () => {
    const body = 'A valid configuration takes effect immediately. An invalid one changes nothing.'
    if (!(await ask({ title: 'Reload the configuration and the skills?', body, action: 'Reload' }))) return
    await act(async () => {
      await call('POST', '/v1/reload', {})
      return 'The configuration was reloaded.'
    })
  }
  const changing = [
    { name: 'Reload the configuration', run: reload },
    { name: 'Send a test message', run: to('compose') },
    { name: 'Check the gateways', run: to('gateways') },
    { name: 'Retry dead letters …', run: to('dead-letters') },
    { name: 'Cancel a running attempt …', run: to('messages', { outcome: 'running' }) },
    { name: 'Cancel a job …', run: to('jobs', { state: 'running' }) },
    { name: 'Replay events …', run: to('queues') },
    {
      name: 'Answer a conversation that waits …',
      more: 'reply unanswered',
      run: to('conversations', { show: 'unanswered' }),
    },
    { name: 'Take over a conversation …', run: to('conversations') },
    {
      name: 'Hand back a conversation …',
      more: 'resume taken over',
      run: to('conversations', { show: 'held' }),
    },
    { name: 'Resume what is paused …', run: to('paused') },
  ]
  const copy = () =>
    act(async () => {
      await navigator.clipboard.writeText(location.href)
      return 'The link was copied.'
    })
  const looking = [
    { name: 'Copy a link to this page', run: copy },
    { name: 'Show dead messages', run: to('messages', { outcome: 'dead' }) },
    { name: 'Sign out', run: () => act(signOut) },
  ]
  return [...(isViewer.value ? [] : changing), ...looking].map((each) => ({ kind: 'action', ...each }))
}

/** Skills that come with Trivium have a route for each transport, such as `search@email`. */
export const isBuiltInRoute = (name) => name.includes('@')

/**
 * Actions that pause the gateways, routes and own skills that are not paused; none while the pauses
 * are unknown.
 */
export function pauseActions(skills, routes, paused) {
  if (isViewer.value || !paused) return []
  const own = skills.filter(({ kind, shipped }) => kind !== 'built-in' && !(shipped && kind === 'prefix'))
  const [ownRoutes, shippedRoutes] = [false, true].map((isShipped) =>
    routes.filter(({ name }) => isBuiltInRoute(name) === isShipped),
  )
  const entry = (kind, name) => ({
    kind: 'action',
    name: `Pause ${kind} ${name} …`,
    of: [kind, name],
    run: () => pauseWith({ kind, of: { [kind]: name }, name }),
  })
  return [
    ...(now.value?.gateways ?? []).map(({ name }) => entry('gateway', name)),
    ...ownRoutes.map(({ name }) => entry('route', name)),
    ...own.map(({ name }) => entry('skill', name)),
    ...shippedRoutes.map(({ name }) => entry('route', name)),
  ].filter(({ of: [kind, name] }) => !paused.some((each) => each.kind === kind && each.name === name))
}

/** Actions that resume. Conversations are handed back in their own view. */
export function resumeActions(paused = []) {
  if (isViewer.value) return []
  return paused
    .filter(({ kind }) => ['store', 'gateway', 'route', 'skill'].includes(kind))
    .map((pause) => {
      const { kind, name, by, reason } = pause
      const { skill, args } = placeOfPause(pause)
      return {
        kind: 'action',
        name: kind === 'store' ? 'Resume everything …' : `Resume ${kind} ${name}`,
        about: [by && `paused by ${authorOf(by)}`, reason].filter(Boolean).join(': '),
        run: () => act(() => resumeWith(skill, args, pause)),
      }
    })
}

/** Actions that change the end or the reason of a pause. */
export function changeActions(paused = []) {
  if (isViewer.value) return []
  return paused.filter(canChange).map((pause) => {
    const { kind, name, label = name } = pause
    return {
      kind: 'action',
      name: `Extend or change the pause of ${kindInWords(kind)} ${label} …`,
      about: untilOf(pause),
      run: () => changePause(pause),
    }
  })
}

/** Schedules, and what can be done with them. */
export function scheduleEntries(schedules) {
  return [
    ...schedules.map((each) => ({
      kind: 'schedule',
      name: each.name,
      about: each.paused ? 'paused' : whenInWords(each, dateTime),
      run: to(['schedules', each.id]),
    })),
    ...(isViewer.value ? [] : schedules.flatMap(scheduleActions)),
  ]
}

function scheduleActions(schedule) {
  const { name, skill, paused } = schedule
  const action = (verb, run) => ({
    kind: 'action',
    name: verb,
    about: `runs ${skill}`,
    run: () => run(schedule),
  })
  return [
    action(`Run schedule ${name} now …`, runSchedule),
    paused
      ? action(`Resume schedule ${name} …`, resumeSchedule)
      : action(`Pause schedule ${name} …`, pauseSchedule),
  ]
}

/** Consumer groups and push subscriptions, and what can be done with a push. */
export function groupEntries() {
  const { groups = [], subscriptions = [] } = now.value ?? {}
  const isPush = ({ topic, group }) =>
    subscriptions.some((each) => each.name === group && each.topic === topic)
  return [
    ...subscriptions.map(({ name, topic, state }) => ({
      kind: 'push',
      name,
      about: `${topic}, ${state}`,
      run: to(['queues', topic, name]),
    })),
    ...groups
      .filter((each) => !isPush(each))
      .map(({ topic, group, lag, again = 0 }) => ({
        kind: 'group',
        name: group,
        about: lag + again > 0 ? `${topic}, ${(lag + again).toLocaleString('en')} behind` : topic,
        run: to(['queues', topic, group]),
      })),
    ...(isViewer.value ? [] : subscriptions.flatMap(pushActions)),
    ...(isViewer.value ? [] : groups.filter((each) => !isPush(each)).map(groupReplay)),
  ]
}

function groupReplay({ topic, group }) {
  const name = `Replay events to ${group} …`
  return { kind: 'action', name, about: topic, run: () => replayGroup({ topic, group }) }
}

function pushActions(push) {
  const { name, state } = push
  const action = (verb, run) => ({
    kind: 'action',
    name: verb,
    about: 'push subscription',
    run: () => run(push),
  })
  const replay = action(`Replay events to ${name} …`, replayPush)
  if (state === 'paused' || state === 'disabled') return [action(`Resume push ${name} …`, resumePush), replay]
  const pause = action(`Pause push ${name} …`, pausePush)
  return state === 'failing' ? [action(`Try push ${name} now`, tryPush), pause, replay] : [pause, replay]
}
