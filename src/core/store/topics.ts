import type { Event, NewEvent } from '../event.ts'
import type { Page } from './page.ts'

/**
 * Events by topic, and the positions of consumer groups. `gateway-message` may have several
 * partitions, numbered from 0, each in order. Reads for groups merge them by age, to within a
 * second. Other topics have one partition.
 */
export type Topics = {
  partitions(topic: string): number
  /** The place of an event; undefined for an id that Trivium did not make. */
  placeOf(topic: string, id: string): { partition: number; position: number } | undefined
  /** Appends events to a topic and returns their ids. Not for `gateway-message`. */
  publish(topic: string, events: readonly NewEvent[]): Promise<string[]>
  /**
   * Creates a group at the end of the topic or at the oldest retained event. An existing group
   * keeps its position.
   */
  subscribe(topic: string, group: string, from: 'now' | 'start'): Promise<{ created: boolean }>
  unsubscribe(topic: string, group: string): Promise<boolean>
  /**
   * Moves a group to the end or the start and clears its leases and missed count, atomically.
   * Returns false if there is no such group.
   */
  seek(topic: string, group: string, to: 'now' | 'start'): Promise<boolean>
  /**
   * Consumes all events of a partition up to the position `last`: unread, returned and leased ones.
   * Returns false if there is no such group.
   */
  skip(topic: string, group: string, to: { last: number; partition?: number }): Promise<boolean>
  /** With `partition`, counts only what waits there. */
  groups(topic?: string, partition?: number): Promise<GroupInfo[]>
  /**
   * Reads for several groups of one topic in one step. Undefined for a group that does not exist;
   * an empty batch if there are no events.
   */
  read(topic: string, requests: readonly GroupRead[]): Promise<(GroupBatch | undefined)[]>
  /**
   * Consumes events and returns their number. The id of a `gap` event (see `missedIn`) clears that
   * many missed events, which reads then no longer report.
   */
  ack(topic: string, group: string, ids: readonly string[], as?: AckOptions): Promise<number>
  /**
   * Releases events, which become visible again after `delay` ms at their old position. Returns
   * their number.
   */
  nack(topic: string, group: string, ids: readonly string[], delay: number): Promise<number>
  /** Extends leases to `lease` ms from now. Returns how many; expired leases are not extended. */
  extend(topic: string, group: string, ids: readonly string[], lease: number): Promise<number>
  /**
   * The position up to which each group of a partition has read. Some events up to it may be leased
   * or returned.
   */
  consumed(topic: string, partition?: number): Promise<ReadUpTo[]>
  /**
   * Counts the positions in (`after`, `last`] that a group has not consumed: unread, returned or
   * leased, and not erased. Undefined if there is no such group.
   */
  unread(topic: string, group: string, range: PositionRange): Promise<number | undefined>
  /**
   * Redelivers, in the new `round`, an event that the group has already read. Its delivery count
   * restarts. An event that the group still has to read gets the negative round, unless an earlier
   * `restore` is why it has to. Returns false if the group or the event is gone.
   */
  restore(topic: string, group: string, id: string, round: number): Promise<boolean>
  /**
   * Undoes `restore` for events of a round. Consumes those that the group had read before it, except
   * leased ones, and returns their number; the others stay unread, in the round of the group.
   */
  withdraw(topic: string, group: string, ids: readonly string[], round: number): Promise<number>
  /**
   * How many redelivered events a group has not consumed, by the round of `restore`. Events that it
   * had to read anyway do not count. With `more`, only the first ones were counted. Undefined if
   * the group does not exist.
   */
  redelivered(topic: string, group: string, partition?: number): Promise<Redelivered | undefined>
  /**
   * The round of the events of a group without a round from `restore`; 0 if the group was created before
   * rounds existed. Undefined if there is no such group.
   */
  roundOf(topic: string, group: string, partition?: number): Promise<number | undefined>
  /**
   * Reads without a group: events after a position (0: the start), with their positions. A page
   * with `more` has at least one.
   */
  tail(topic: string, after: number, max: number, partition?: number): Promise<Page<PlacedEvent>>
  /** The position of the newest event; 0 for an empty topic. Positions increase by one. */
  end(topic: string, partition?: number): Promise<number>
  /**
   * Counts the erased events in (`after`, `last`] that are after the oldest retained event. Events
   * erased by versions before 0.2 are not known, so all counts of unread events include them.
   */
  erased(topic: string, range: PositionRange): Promise<number>
}

/** A group, and the last position that it has read. */
export type ReadUpTo = { group: string; last: number }

export type Redelivered = { rounds: { round: number; count: number }[]; more: boolean }

export type PlacedEvent = { position: number; event: Event }

export type GroupRead = {
  group: string
  max: number
  /**
   * `consume`: returned events are consumed. `lease`: they are returned again unless they are
   * acknowledged. `peek`: nothing changes.
   */
  mode: 'consume' | 'peek' | 'lease'
  /** In the mode `lease`: ms after which the group sees the events again. */
  lease?: number
  partition?: number
  /** When peeking at a `partition`: skips events up to this position. */
  after?: number
  /** Count deliveries of each event under a lease. */
  isCounted?: boolean
  /**
   * Return the round of each event. A round begins when the group is created again or moved, and
   * for one event by `restore`; repeated deliveries stay in their round.
   */
  withRounds?: boolean
}

export type PositionRange = { after: number; last: number; partition?: number }

export type AckOptions = {
  /** The caller read all of these events from this topic, so only the newest is looked up. */
  areRead?: boolean
  /**
   * The round in which the events were read (see `withRounds`). Events that were redelivered since
   * then are not consumed.
   */
  round?: number
}

export type GroupBatch = Page<Event> & {
  /**
   * Events that expired before this group read them. Reported once, or by peeks until acknowledged.
   */
  missed: number
  /** When the next released or leased event becomes visible (Unix ms). */
  nextVisible?: number
  /** With a counted lease: the delivery number of each event. */
  deliveries?: number[]
  /** With `withRounds`: the round of each event; see `restore` for negative ones. */
  rounds?: number[]
}

export type GroupInfo = {
  topic: string
  group: string
  /** Number of events that the group has not read, without erased ones. */
  lag: number
  /** Number of events that are leased or released. */
  pending: number
  /**
   * How many of the pending events a read returns again: replayed or released ones, and those
   * whose lease has expired.
   */
  again: number
}
