#pragma once
#include <span>
#include <string>

#include "server/traces/span.h"

namespace augur {

/// Spans as the body of a request to a collector: OTLP's JSON encoding of an ExportTraceServiceRequest
/// (opentelemetry.io/docs/specs/otlp). `resource`: what all of them are about.
std::string otlp_json(std::span<const Span> spans, const SpanAttributes& resource);

}  // namespace augur
