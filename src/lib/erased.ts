/** The text in place of the name of an erased person, in records that stay. */
export const ERASED = 'an erased person'
