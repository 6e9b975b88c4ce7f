import type { RouteMatch } from '../../core/match.ts'

/** `queue`: the name of the group. */
type OfGroup = { topic: string; queue: string; match?: RouteMatch | undefined }

/**
 * Wraps `event-replay`, `event-seek`, `event-skip` and `event-unread`. If a push subscription reads as
 * the group, its filter is added to the arguments, so that only the events that the subscription wants
 * are counted.
 */
export function withPushFilter<Args extends OfGroup, Rest extends unknown[], Result>(
  run: (args: Args, ...rest: Rest) => Promise<Result>,
  matchOf: (topic: string, group: string) => RouteMatch | undefined,
) {
  return (args: Args, ...rest: Rest): Promise<Result> =>
    run({ ...args, match: matchOf(args.topic, args.queue) }, ...rest)
}
