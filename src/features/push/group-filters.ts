import type { RouteMatch } from '../../core/match.ts'

type OfGroup = { topic: string; queue: string; match?: RouteMatch | undefined }

/**
 * Wraps `event-replay` and `event-seek`. If a push subscription reads as the group, adds its filter
 * to the arguments, so that only the events that it gets are counted.
 */
export function withPushFilter<Args extends OfGroup, Rest extends unknown[], Result>(
  run: (args: Args, ...rest: Rest) => Promise<Result>,
  matchOf: (topic: string, group: string) => RouteMatch | undefined,
) {
  return (args: Args, ...rest: Rest): Promise<Result> =>
    run({ ...args, match: matchOf(args.topic, args.queue) }, ...rest)
}
