import { timeOf } from '../core/message-id.ts'
import type { GroupInfo, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { GroupActivity } from './group-activity.ts'

/** Number of groups whose oldest unread event is looked up. */
const MOST_LOOKS = 100

/** A consumer group, its lag in events and in time, and its readers. Times in Unix ms. */
type ListedGroup = GroupInfo &
  ReturnType<GroupActivity['info']> & { oldestAt?: number; skill?: { name: string; since?: number } }

/** `event-groups`, furthest behind first; only those named `queue` if it is given. */
export async function listGroups(
  deps: {
    topics: Pick<Store['topics'], 'groups' | 'read'>
    activity: GroupActivity
    /** The groups whose events run a skill. */
    skills(): Promise<readonly { topic: string; group: string; ref: string; since?: number | undefined }[]>
    isLasting(group: string): boolean
  },
  topic: string | undefined,
  queue: string | undefined,
): Promise<ListedGroup[]> {
  const { topics, activity } = deps
  const [all, skills] = await Promise.all([topics.groups(topic), deps.skills()])
  const groups = all
    .filter(({ group }) => deps.isLasting(group) && (queue === undefined || group === queue))
    .sort((a, b) => b.lag - a.lag)
  return Promise.all(
    groups.map(async (info, at) => {
      const looks = info.lag + info.pending > 0 && at < MOST_LOOKS
      const oldestAt = looks ? await oldestOf(topics, info) : undefined
      const served = skills.find((one) => one.topic === info.topic && one.group === info.group)
      const skill = served && { name: served.ref, ...defined({ since: served.since }) }
      return { ...info, ...activity.info(info.topic, info.group), ...defined({ oldestAt, skill }) }
    }),
  )
}

/** When the oldest event was published that the group has neither read nor leased. */
async function oldestOf(
  topics: Pick<Store['topics'], 'read'>,
  { topic, group }: GroupInfo,
): Promise<number | undefined> {
  const [batch] = await topics.read(topic, [{ group, max: 1, mode: 'peek' }])
  const [event] = batch?.items ?? []
  return event && timeOf(event.id)
}
