/** An object that is not handed out yet: its maker adds to it member by member, which costs less than spreads (0.2 us for three). */
export type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
