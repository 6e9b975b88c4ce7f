import type { RouteMatch } from '../../core/match.ts'

type OfGroup = { topic: string; queue: string; match?: RouteMatch | undefined }

/** Adds the filter of the push that reads as the group to calls of `event-replay` and `event-seek`, so that they count what it gets. */
export function withPushFilter<Args extends OfGroup, Rest extends unknown[], Result>(
  run: (args: Args, ...rest: Rest) => Promise<Result>,
  matchOf: (topic: string, group: string) => RouteMatch | undefined,
) {
  return (args: Args, ...rest: Rest): Promise<Result> =>
    run({ ...args, match: matchOf(args.topic, args.queue) }, ...rest)
}
