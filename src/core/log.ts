/** A logger: one line per event, structured fields first. Compatible with pino. */
export type Log = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

/** Discards everything, for callers that report failures as errors. */
export const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
