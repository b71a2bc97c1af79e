package ul

// Class says what a line is: its kind and its level decide what happens to it.
type Class struct {
	Kind    Kind
	Level   Level  // a continuation has the level of its record
	Message uint16 // offset of the message of a Header in UL; 0: no decorations, or another format
	Whole   bool   // no other line begins in the decorations of a Header in UL; false: unknown
	Dropped uint64 // lines that the JVM discarded, for a Drop
}

// Classifier classifies the lines of one stream. It must receive the lines in
// order. The zero value is ready for any line of a stream, its first or a later
// one: until the first header, continuations have level Unknown. Each stream
// needs its own Classifier. A Classifier is not safe for concurrent use.
type Classifier struct {
	level   Level // the level that continuations inherit
	started bool  // a header has occurred
	strong  bool  // a strong prefix has occurred, so a weak prefix is not a header
	layout  layout
}

// Classify returns the class of the next line, without its newline.
func (c *Classifier) Classify(line []byte) Class {
	bracket := len(line) > 0 && line[0] == '['
	if bracket {
		if class, ok := c.Repeats(line); ok {
			return class
		}
	}
	if c.started && c.strong && (!bracket || isBlank(line)) {
		return Class{Kind: Continuation, Level: c.level}
	}
	if bracket && c.find(line) {
		return Class{Kind: Header, Level: c.level, Message: c.layout.message()}
	}
	return c.parse(line)
}

// Repeats returns the class of the next line, which begins with a bracket, if the line is a
// header with the layout of the last header. If Repeats returns false, call Classify.
func (c *Classifier) Repeats(line []byte) (class Class, ok bool) {
	level := c.layout.read(line)
	if level == Unknown {
		return Class{}, false
	}
	c.level = level
	return Class{Kind: Header, Level: level, Message: c.layout.message(), Whole: c.layout.whole}, true
}

// Level returns the level that a continuation would inherit now.
func (c *Classifier) Level() Level { return c.level }

// Resume prepares c for a place in a stream where a continuation inherits
// level. The level may be Unknown.
func (c *Classifier) Resume(level Level) {
	c.level, c.started = level, c.started || level != Unknown
}

// find reports whether the line is a header, and if so stores its level and its layout. It
// looks only for a level, for a clock, or for tags alone. If find returns false, the line may
// still be a header. The line begins with a bracket.
func (c *Classifier) find(line []byte) bool {
	level, found := c.layout.find(line)
	if !found || (level == Unknown || level == Warning) && endsAsDrop(line) {
		return false
	}
	isStrong := level != Unknown || c.layout.hasClock(line)
	if !isStrong && (c.strong || !c.layout.isTags(line)) {
		return false
	}
	c.started, c.strong, c.level = true, isStrong, level
	return true
}

// parse classifies the line by a full parse. find has already stored the layout of a header.
func (c *Classifier) parse(line []byte) Class {
	var r Record
	r.Parse(line)
	isStrong := r.Present&strong != 0
	switch {
	case r.Kind == Continuation:
		return Class{Kind: Continuation, Level: c.level}
	case c.strong && !isStrong, c.started && r.Present == 0:
		return Class{Kind: c.inherits(), Level: c.level}
	case r.Kind == Header && r.Stamped: // the next header has no brackets either
		c.started, c.level = true, Unknown
	case r.Kind == Header:
		c.started, c.strong, c.level = true, isStrong, r.Level
	case r.Kind == Drop:
		c.strong = isStrong
	}
	class := Class{Kind: r.Kind, Level: r.Level, Dropped: r.Dropped}
	if r.Kind == Header {
		class.Message = uint16(len(line) - len(r.Message))
	}
	return class
}

// inherits returns the kind of a line that is not a header.
func (c *Classifier) inherits() Kind {
	if c.started {
		return Continuation
	}
	return Text
}
